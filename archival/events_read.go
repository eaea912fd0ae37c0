package archival

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/carillon-scheduler/carillon/internal/archive"
)

// eventCursor is where the next page of what an archive has of the events of schedules begins: behind a number of items of an object.
type eventCursor struct {
	Object string `json:"object"`
	Items  int    `json:"items"`
}

// listSchedules answers of which schedules there are archived events: an archive.EventsPage with schedules, the newest day first.
func (r reading) listSchedules(ctx context.Context, data *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	request, from, err := eventsRequest(data)
	if err != nil {
		return nil, err
	}
	names, err := r.bucket.EventIndexes(ctx, r.namespace, request.Day)
	if err != nil {
		return nil, err
	}
	all := pager[archive.Events]{reading: r, from: from, most: sizeOfList(int32(request.Size)), read: r.bucket.EventIndex, wants: func(e *archive.Events) bool {
		return (request.ScheduleID == "" || e.ScheduleID == request.ScheduleID) && (request.Kind == "" || e.Kinds[request.Kind] > 0)
	}}
	next, err := all.walk(ctx, names)
	return eventsPage(&archive.EventsPage{Schedules: all.found, Next: next}, err)
}

// verifySchedules reads archived events, and answers which of them are damaged or missing: an archive.Verified.
func (r reading) verifySchedules(ctx context.Context, data *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	request, from, err := eventsRequest(data)
	if err != nil {
		return nil, err
	}
	names, err := r.bucket.EventIndexes(ctx, r.namespace, request.Day)
	if err != nil {
		return nil, err
	}
	var v archive.Verified
	all := pager[archive.Events]{reading: r, from: from, most: maxList, read: r.bucket.EventIndex, wants: func(e *archive.Events) bool {
		return request.ScheduleID == "" || e.ScheduleID == request.ScheduleID
	}}
	all.damaged = func(reason error) { v.Damaged = append(v.Damaged, archive.Damaged{Reason: reason.Error()}) }
	all.verify = func(e *archive.Events) error {
		err := r.bucket.VerifyEvents(ctx, e)
		if isLost(err) {
			v.Damaged = append(v.Damaged, archive.Damaged{ScheduleID: e.ScheduleID, Reason: err.Error()})
			return nil
		}
		return err
	}
	if v.Next, err = all.walk(ctx, names); err != nil {
		return nil, err
	}
	v.Events = len(all.found)
	answer, err := json.Marshal(&v)
	return wrapperspb.Bytes(answer), err
}

// scheduleEvents answers archived events of a schedule, in their order: an archive.EventsPage with events.
func (r reading) scheduleEvents(ctx context.Context, data *wrapperspb.BytesValue) (*wrapperspb.BytesValue, error) {
	request, from, err := eventsRequest(data)
	if err == nil && request.ScheduleID == "" {
		err = serviceerror.NewInvalidArgument("the request names no schedule")
	}
	if err != nil {
		return nil, err
	}
	names, err := r.bucket.EventObjects(ctx, r.namespace, request.ScheduleID, request.Day)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, serviceerror.NewNotFound("events of the schedule not found in the archive of its namespace")
	}
	all := pager[json.RawMessage]{reading: r, from: from, most: sizeOfList(int32(request.Size)), read: r.bucket.EventsOf, wants: func(e *json.RawMessage) bool {
		return request.Kind == "" || kindOf(*e) == request.Kind
	}}
	next, err := all.walk(ctx, names)
	return eventsPage(&archive.EventsPage{Events: all.found, Next: next}, err)
}

// kindOf returns the kind of an event.
func kindOf(event json.RawMessage) string {
	var e struct {
		Kind string `json:"kind"`
	}
	_ = json.Unmarshal(event, &e) // one that cannot be read has none
	return e.Kind
}

// eventsRequest decodes a request, and where its page begins.
func eventsRequest(data *wrapperspb.BytesValue) (request archive.EventsRequest, from eventCursor, err error) {
	if json.Unmarshal(data.GetValue(), &request) != nil {
		return request, from, serviceerror.NewInvalidArgument("the request cannot be read")
	}
	if request.Day != "" {
		if _, err := archive.ParseDay(request.Day); err != nil {
			return request, from, serviceerror.NewInvalidArgument(err.Error())
		}
	}
	if len(request.Next) > 0 && (json.Unmarshal(request.Next, &from) != nil || from.Object == "" || from.Items < 0) {
		return request, from, serviceerror.NewInvalidArgument("Invalid NextPageToken.")
	}
	return request, from, nil
}

func eventsPage(page *archive.EventsPage, err error) (*wrapperspb.BytesValue, error) {
	if err != nil {
		return nil, err
	}
	data, err := json.Marshal(page)
	return wrapperspb.Bytes(data), err
}

// pager collects a page of items that are in several objects.
type pager[T any] struct {
	reading
	from  eventCursor
	most  int
	read  func(ctx context.Context, name string) ([]T, error)
	wants func(*T) bool
	// verify is called for each item that is wanted, and damaged for each object that is not what was written. Either may be nil.
	verify  func(*T) error
	damaged func(error)
	found   []T
	room    int
	until   time.Time
}

// walk goes through objects, from the cursor on. It returns the token of the next page; empty if there is none.
func (p *pager[T]) walk(ctx context.Context, names []string) (next []byte, err error) {
	p.room, p.until = p.bytesOfPage(), p.config.Now().Add(lookTime)
	if p.from.Object != "" {
		at := slices.Index(names, p.from.Object)
		if at < 0 {
			return nil, serviceerror.NewInvalidArgument("where the page begins has been removed: begin with the first one")
		}
		names = names[at:]
	}
	for n, name := range names {
		if n > 0 && !p.config.Now().Before(p.until) {
			return json.Marshal(eventCursor{Object: name})
		}
		items, err := p.items(ctx, name)
		if err != nil {
			return nil, err
		}
		first := 0
		if name == p.from.Object {
			first = min(p.from.Items, len(items))
		}
		i, err := p.take(items[first:])
		if err != nil {
			return nil, err
		}
		if i < len(items)-first {
			return json.Marshal(eventCursor{Object: name, Items: first + i})
		}
	}
	return nil, nil
}

// items reads an object: none if it is gone, or if it is not what was written.
func (p *pager[T]) items(ctx context.Context, name string) ([]T, error) {
	items, err := p.read(ctx, name)
	switch {
	case errors.Is(err, archive.ErrNotFound):
		return nil, nil
	case errors.Is(err, archive.ErrDiffers):
		p.log.ErrorContext(ctx, "events in an archive are damaged", "namespace", p.namespace, "error", err)
		if p.damaged != nil {
			p.damaged(err)
		}
		return nil, nil
	}
	return items, err
}

// take takes items as far as there is room, or time to verify them, and returns how many it has looked at.
func (p *pager[T]) take(items []T) (int, error) {
	for i := range items {
		if !p.wants(&items[i]) {
			continue
		}
		data, _ := json.Marshal(&items[i]) // it has been decoded from JSON
		p.room -= len(data)
		late := p.verify != nil && !p.config.Now().Before(p.until)
		if len(p.found) == p.most || len(p.found) > 0 && (p.room < 0 || late) {
			return i, nil
		}
		if p.verify != nil {
			if err := p.verify(&items[i]); err != nil {
				return i, err
			}
		}
		p.found = append(p.found, items[i])
	}
	return len(items), nil
}
