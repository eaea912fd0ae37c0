package archival

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"gocloud.dev/blob"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

const (
	// namesAtOnce is how many names of entries are read at once.
	namesAtOnce = 1000
	// maxLooked is how many entries are read for one page at most, and lookTime for about how long: a page may have fewer executions than asked for, or none,
	// and a token nevertheless.
	maxLooked = 5000
	lookTime  = 5 * time.Second
	// maxVerified is how many bytes of histories are verified for one page, at most, apart from the last history.
	maxVerified = 64 << 20
	// defaultList is how many executions a page has if the request does not say, and maxList how many at most.
	defaultList = 100
	maxList     = 1000
)

// cursor is where a list goes on.
type cursor struct {
	// Day, Type and Hour are those of the last entry of the page before, and After is its name.
	Day   string `json:"day"`
	Type  string `json:"type"`
	Hour  string `json:"hour"`
	After string `json:"after"`
	// Names is the token of the page of names that has that name; empty for the first one of the hour.
	Names []byte `json:"names,omitempty"`
}

// list answers a page of the archived executions of a namespace: the newest day first, and within a day by type and end.
func (r reading) list(
	ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest,
) (*workflowservice.ListArchivedWorkflowExecutionsResponse, error) {
	return r.page(ctx, request, nil)
}

// verify reads the history of each execution of a page, and answers which of them are damaged or missing: an archive.Verified.
func (r reading) verify(ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest) (*wrapperspb.BytesValue, error) {
	var v archive.Verified
	page, err := r.page(ctx, request, func(ctx context.Context, e *archive.Entry) error {
		err := r.bucket.Verify(ctx, e)
		if isLost(err) {
			run := e.Execution.GetExecution()
			v.Damaged = append(v.Damaged, archive.Damaged{WorkflowID: run.GetWorkflowId(), RunID: run.GetRunId(), Reason: err.Error()})
			err = nil
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v.Executions, v.Next = len(page.Executions), page.NextPageToken
	data, err := json.Marshal(&v)
	return wrapperspb.Bytes(data), err
}

// page collects a page of the entries that a query wants, and calls verify for each of them, unless it is nil.
func (r reading) page(
	ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest, verify func(context.Context, *archive.Entry) error,
) (*workflowservice.ListArchivedWorkflowExecutionsResponse, error) {
	q, err := query.ParseExecutions(request.GetQuery(), nil)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument("invalid query: " + query.Explain(request.GetQuery(), err))
	}
	if q.Order != nil || q.Group != nil {
		return nil, serviceerror.NewInvalidArgument("invalid query: an archive has one order, and no groups")
	}
	from, err := cursorOf(request.GetNextPageToken())
	if err != nil {
		return nil, err
	}
	days, err := r.bucket.Days(ctx, r.namespace)
	if err != nil {
		return nil, err
	}
	l := &lister{
		reading: r, query: q, filter: filterOf(q.Where), verify: verify, most: sizeOfList(request.GetPageSize()), room: r.bytesOfPage(),
		until: r.config.Now().Add(lookTime),
	}
	full, err := l.walk(ctx, days, from)
	if err != nil {
		return nil, err
	}
	response := &workflowservice.ListArchivedWorkflowExecutionsResponse{Executions: l.found}
	if full {
		response.NextPageToken, err = json.Marshal(&l.next)
	}
	return response, err
}

// cursorOf decodes the token of a page; without one, a page is the first.
func cursorOf(token []byte) (from cursor, err error) {
	if len(token) == 0 {
		return from, nil
	}
	if err := json.Unmarshal(token, &from); err != nil || from.Day == "" {
		return from, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	}
	return from, nil
}

func sizeOfList(asked int32) int {
	if asked < 1 {
		return defaultList
	}
	return min(int(asked), maxList)
}

// lister collects a page.
type lister struct {
	reading
	query  *query.Query
	filter filter
	verify func(context.Context, *archive.Entry) error
	most   int
	room   int
	looked int
	// until is when the page has taken long enough, and verified how many bytes of histories have been read.
	until    time.Time
	verified int64
	// begun says that the page has got through an hour, a type or a day.
	begun bool
	found []*workflowpb.WorkflowExecutionInfo
	// next is where the next page begins, if there is one.
	next cursor
}

// isFull reports whether the page has enough executions, or has taken enough.
func (l *lister) isFull() bool {
	return len(l.found) == l.most || l.looked >= maxLooked || l.verified >= maxVerified || l.looked > 0 && !l.config.Now().Before(l.until)
}

// isLate reports whether the page has taken long enough, before the entries behind a cursor are looked for. Then the next page begins there. Each page gets
// through an hour at least, or through a type or a day that has none.
func (l *lister) isLate(begin cursor) bool {
	if !l.begun || l.config.Now().Before(l.until) {
		return false
	}
	l.next = begin
	return true
}

// walk goes through the days from a cursor on. It reports whether the page is full.
func (l *lister) walk(ctx context.Context, days []string, from cursor) (full bool, err error) {
	for _, day := range days {
		if from.Day != "" && day > from.Day || !l.filter.hasDay(day) {
			continue
		}
		begin := cursor{Day: day}
		if day == from.Day {
			begin = from
		}
		if l.isLate(begin) {
			return true, nil
		}
		if full, err := l.day(ctx, begin); full || err != nil {
			return full, err
		}
		l.begun = true
	}
	return false, nil
}

// day goes through the types of a day from a cursor on. It reports whether the page is full.
func (l *lister) day(ctx context.Context, from cursor) (full bool, err error) {
	types := []string{l.filter.workflowType}
	if l.filter.workflowType == "" {
		if types, err = l.bucket.Types(ctx, l.namespace, from.Day); err != nil {
			return false, err
		}
	}
	for _, of := range types {
		if of < from.Type {
			continue
		}
		begin := cursor{Day: from.Day, Type: of}
		if of == from.Type {
			begin = from
		}
		if l.isLate(begin) {
			return true, nil
		}
		if full, err := l.hours(ctx, begin); full || err != nil {
			return full, err
		}
		l.begun = true
	}
	return false, nil
}

// hours goes through the hours of a type on a day from a cursor on. It reports whether the page is full.
func (l *lister) hours(ctx context.Context, from cursor) (full bool, err error) {
	hours, err := l.bucket.Hours(ctx, l.namespace, from.Day, from.Type)
	if err != nil {
		return false, err
	}
	for _, hour := range hours {
		if hour < from.Hour || !l.filter.hasHour(from.Day, hour) {
			continue
		}
		begin := cursor{Day: from.Day, Type: from.Type, Hour: hour}
		if hour == from.Hour {
			begin = from
		}
		if l.isLate(begin) {
			return true, nil
		}
		if full, err := l.entries(ctx, begin); full || err != nil {
			return full, err
		}
		l.begun = true
	}
	return false, nil
}

// entries goes through the entries of an hour, behind a cursor. It reports whether the page is full.
func (l *lister) entries(ctx context.Context, at cursor) (full bool, err error) {
	prefix, names := archive.EntriesPrefix(l.namespace, at.Day, at.Type, at.Hour), at.Names
	if len(names) == 0 {
		names = blob.FirstPageToken
	}
	for names != nil {
		objects, next, err := l.bucket.Page(ctx, prefix, names, namesAtOnce)
		if err != nil {
			return false, err
		}
		if full, err := l.lookAt(ctx, &at, objects); full || err != nil {
			return full, err
		}
		names, at.Names = next, next
		if names != nil && !l.config.Now().Before(l.until) {
			l.next = at
			return true, nil
		}
	}
	return false, nil
}

// lookAt looks at the entries of a page of names that are behind a cursor, and takes the cursor there. It reports whether the page is full.
func (l *lister) lookAt(ctx context.Context, at *cursor, objects []*blob.ListObject) (full bool, err error) {
	for _, object := range objects {
		if object.Key <= at.After {
			continue
		}
		if full, err := l.look(ctx, object.Key); full || err != nil {
			return full, err
		}
		at.After = object.Key
		l.next = *at
	}
	return false, nil
}

// look adds the execution of an entry, if it is wanted. It reports whether there is no room for it.
func (l *lister) look(ctx context.Context, object string) (full bool, err error) {
	name, ok := archive.ParseEntryName(object)
	if !ok || !l.filter.hasName(&name) {
		return false, nil
	}
	if l.isFull() {
		return true, nil
	}
	l.looked++
	entry, err := l.entry(ctx, &name, object)
	if err != nil || entry == nil {
		return false, err
	}
	if l.room -= proto.Size(entry.Execution); l.room < 0 && len(l.found) > 0 {
		return true, nil
	}
	if l.verify != nil {
		l.verified += entry.Bytes
		if err := l.verify(ctx, entry); err != nil {
			return false, err
		}
	}
	l.found = append(l.found, entry.Execution)
	return false, nil
}

// entry reads an entry; nil if the query does not want it, or if it has been removed meanwhile. Of one that is damaged, it is what its name says: it names
// no history, so that it is found to be damaged.
func (l *lister) entry(ctx context.Context, name *archive.EntryName, object string) (*archive.Entry, error) {
	entry, err := l.bucket.Entry(ctx, object)
	var wanted bool
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return nil, nil
	case errors.Is(err, archive.ErrDiffers):
		entry = &archive.Entry{History: object, Execution: executionOf(name)}
		wanted = l.query.Matches(row{entry.Execution}) || l.verify != nil && mayMatch(l.query.Where, name)
	case err != nil:
		return nil, err
	default:
		wanted = l.query.Matches(row{entry.Execution})
	}
	if !wanted {
		return nil, nil
	}
	return entry, nil
}
