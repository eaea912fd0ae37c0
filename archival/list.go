package archival

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"gocloud.dev/blob"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
	"github.com/carillon-scheduler/carillon/internal/search/query"
)

const (
	// namesAtOnce is how many names of entries are read at once.
	namesAtOnce = 1000
	// maxLooked is how many entries are read for one page at most: a page may have fewer executions than asked for, and a token nevertheless.
	maxLooked = 5000
	// defaultList is how many executions a page has if the request does not say, and maxList how many at most.
	defaultList = 100
	maxList     = 1000
)

// cursor is where a list goes on.
type cursor struct {
	// Day and Type are those of the last entry of the page before, and After is its name.
	Day   string `json:"day"`
	Type  string `json:"type"`
	After string `json:"after"`
}

// list answers a page of the archived executions of a namespace: the newest day first, and within a day by type and end.
func (r reading) list(
	ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest,
) (*workflowservice.ListArchivedWorkflowExecutionsResponse, error) {
	return r.page(ctx, request, func(context.Context, *archive.Entry) (bool, error) { return true, nil })
}

// verify reads the history of each execution of a page, and answers which of them are damaged or missing: an archive.Verified.
func (r reading) verify(ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest) (*wrapperspb.BytesValue, error) {
	var v archive.Verified
	page, err := r.page(ctx, request, func(ctx context.Context, e *archive.Entry) (bool, error) {
		err := r.bucket.Verify(ctx, e)
		if errors.Is(err, archive.ErrDiffers) || errors.Is(err, archive.ErrNotFound) {
			run := e.Execution.GetExecution()
			v.Damaged = append(v.Damaged, archive.Damaged{WorkflowID: run.GetWorkflowId(), RunID: run.GetRunId(), Reason: err.Error()})
			err = nil
		}
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	v.Executions, v.Next = len(page.Executions), page.NextPageToken
	data, err := json.Marshal(&v)
	return wrapperspb.Bytes(data), err
}

// page collects a page of the entries that a query and a function want.
func (r reading) page(
	ctx context.Context, request *workflowservice.ListArchivedWorkflowExecutionsRequest, wants func(context.Context, *archive.Entry) (bool, error),
) (*workflowservice.ListArchivedWorkflowExecutionsResponse, error) {
	q, err := query.ParseExecutions(request.GetQuery(), nil)
	if err != nil {
		return nil, serviceerror.NewInvalidArgument("invalid query: " + query.Explain(request.GetQuery(), err))
	}
	if q.Order != nil || q.Group != nil {
		return nil, serviceerror.NewInvalidArgument("invalid query: an archive has one order, and no groups")
	}
	from := cursor{}
	if token := request.GetNextPageToken(); len(token) > 0 {
		if err := json.Unmarshal(token, &from); err != nil || from.Day == "" {
			return nil, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
		}
	}
	days, err := r.bucket.Days(ctx, r.namespace)
	if err != nil {
		return nil, err
	}
	l := &lister{reading: r, query: q, filter: filterOf(q.Where), wants: wants, most: sizeOfList(request.GetPageSize()), room: r.bytesOfPage()}
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
	wants  func(context.Context, *archive.Entry) (bool, error)
	most   int
	room   int
	looked int
	found  []*workflowpb.WorkflowExecutionInfo
	// next is where the next page begins, if there is one.
	next cursor
}

// walk goes through the days from a cursor on. It reports whether the page is full.
func (l *lister) walk(ctx context.Context, days []string, from cursor) (full bool, err error) {
	for _, day := range days {
		if from.Day != "" && day > from.Day || !l.filter.hasDay(day) {
			continue
		}
		begin := cursor{}
		if day == from.Day {
			begin = from
		}
		if full, err := l.day(ctx, day, begin); full || err != nil {
			return full, err
		}
	}
	return false, nil
}

// day goes through the types of a day from a cursor on. It reports whether the page is full.
func (l *lister) day(ctx context.Context, day string, from cursor) (full bool, err error) {
	types := []string{l.filter.workflowType}
	if l.filter.workflowType == "" {
		if types, err = l.bucket.Types(ctx, l.namespace, day); err != nil {
			return false, err
		}
	}
	for _, of := range types {
		if of < from.Type {
			continue
		}
		after := ""
		if of == from.Type {
			after = from.After
		}
		if full, err := l.entries(ctx, cursor{day, of, after}); full || err != nil {
			return full, err
		}
	}
	return false, nil
}

// entries goes through the entries of a type on a day, behind a cursor. It reports whether the page is full.
func (l *lister) entries(ctx context.Context, from cursor) (full bool, err error) {
	options := &blob.ListOptions{Prefix: archive.DayPrefix(l.namespace, from.Day, from.Type)}
	for token := blob.FirstPageToken; token != nil; {
		objects, next, err := l.bucket.ListPage(ctx, token, namesAtOnce, options)
		if err != nil {
			return false, fmt.Errorf("archival: list %s: %w", options.Prefix, err)
		}
		for _, object := range objects {
			if object.Key <= from.After {
				continue
			}
			if full, err := l.look(ctx, from.Day, from.Type, object.Key); full || err != nil {
				return full, err
			}
		}
		token = next
	}
	return false, nil
}

// look adds the execution of an entry, if it is wanted. It reports whether there is no room for it.
func (l *lister) look(ctx context.Context, day, workflowType, object string) (full bool, err error) {
	name, ok := archive.ParseEntryName(object)
	if !ok || !l.filter.hasName(&name) {
		return false, nil
	}
	if len(l.found) == l.most || l.looked == maxLooked {
		return true, nil
	}
	l.looked++
	entry, err := l.entry(ctx, &name, object)
	if err != nil {
		return false, err
	}
	if entry == nil {
		l.next = cursor{day, workflowType, object}
		return false, nil
	}
	wanted := l.query.Matches(row{entry.Execution})
	if wanted {
		wanted, err = l.wants(ctx, entry)
	}
	if err != nil {
		return false, err
	}
	if wanted {
		if l.room -= proto.Size(entry.Execution); l.room < 0 && len(l.found) > 0 {
			return true, nil
		}
		l.found = append(l.found, entry.Execution)
	}
	l.next = cursor{day, workflowType, object}
	return false, nil
}

// entry reads an entry; nil if it has been removed meanwhile. Of one that is damaged, it is what its name says: it names no history, so that it is found to
// be damaged.
func (l *lister) entry(ctx context.Context, name *archive.EntryName, object string) (*archive.Entry, error) {
	entry, err := l.bucket.Entry(ctx, object)
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return nil, nil
	case errors.Is(err, archive.ErrDiffers):
		return &archive.Entry{History: object, Execution: &workflowpb.WorkflowExecutionInfo{
			Execution: &common.WorkflowExecution{WorkflowId: name.WorkflowID, RunId: name.RunID},
			Type:      &common.WorkflowType{Name: name.Type}, CloseTime: timestamppb.New(name.End),
		}}, nil
	}
	return entry, err
}

// filter is what the names of entries can decide of a query.
type filter struct {
	workflowType, workflowID, runID string // tokens
	from, to                        string // days, both included; empty if there is no bound
}

func (f *filter) hasDay(day string) bool { return day >= f.from && (f.to == "" || day <= f.to) }

func (f *filter) hasName(n *archive.EntryName) bool {
	return (f.workflowID == "" || n.WorkflowID == f.workflowID) && (f.runID == "" || n.RunID == f.runID)
}

// filterOf takes from a condition what must hold for all that it holds for.
func filterOf(where query.Expr) (f filter) {
	all, isAnd := where.(query.And)
	if !isAnd {
		all = query.And{where}
	}
	for _, part := range all {
		c, ok := part.(query.Compare)
		if !ok || c.Field.Source != query.Execution {
			continue
		}
		f.narrow(c)
	}
	return f
}

func (f *filter) narrow(c query.Compare) {
	equal := c.Op == query.Equal
	switch c.Field.Name {
	case query.WorkflowType:
		if equal {
			f.workflowType = archive.Token(c.Value.Text)
		}
	case query.WorkflowIDOf:
		if equal {
			f.workflowID = archive.Token(c.Value.Text)
		}
	case query.RunID:
		if equal {
			f.runID = archive.Token(c.Value.Text)
		}
	case query.CloseTime:
		day := archive.DayOf(c.Value.Time)
		if slices.Contains([]query.Op{query.Greater, query.GreaterOrEqual, query.Equal}, c.Op) {
			f.from = max(f.from, day)
		}
		if slices.Contains([]query.Op{query.Less, query.LessOrEqual, query.Equal}, c.Op) && (f.to == "" || day < f.to) {
			f.to = day
		}
	}
}
