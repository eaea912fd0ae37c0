package archive

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Event is an event of a schedule, as far as an archive looks at it.
type Event struct {
	ScheduleID, Kind string
	Time             time.Time
	// JSON is all of it.
	JSON json.RawMessage
	// Sequence is where it is in the stream. It is not archived.
	Sequence uint64
}

// Events are what an archive says of some events of a schedule, of one day. They are in one object.
type Events struct {
	ScheduleID string `json:"scheduleId"`
	// Day is that of the events, in UTC, such as 2026-11-28.
	Day string `json:"day"`
	// First and Last are the times of the first and the last event, Count is how many there are, and Kinds how many of each kind.
	First time.Time      `json:"first"`
	Last  time.Time      `json:"last"`
	Count int            `json:"count"`
	Kinds map[string]int `json:"kinds"`
	// Object is the name of the object with the events, Bytes its size, and SHA256 its digest in hexadecimal.
	Object string `json:"object"`
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
}

// storedEvents is the object with some events.
type storedEvents struct {
	Events []json.RawMessage `json:"events"`
}

// eventIndex is the object that says which events of a day are where.
type eventIndex struct {
	Schedules []Events `json:"schedules"`
}

// EncodeEvents encodes events of a schedule, of one day, in their order. There is at least one. sequence is where in the stream the part begins to which they
// belong: with it, their object has a name that no other part has.
func EncodeEvents(namespace, scheduleID, day string, sequence uint64, events []Event) (Events, []byte, error) {
	e := Events{ScheduleID: scheduleID, Day: day, First: events[0].Time, Count: len(events), Kinds: map[string]int{}}
	var stored storedEvents
	for i := range events {
		e.Last = events[i].Time
		e.Kinds[events[i].Kind]++
		stored.Events = append(stored.Events, events[i].JSON)
	}
	data, err := json.Marshal(stored)
	e.Object = EventsName(namespace, scheduleID, day, sequence)
	e.Bytes, e.SHA256 = int64(len(data)), Digest(data)
	return e, data, err
}

// EventsName is the name of the object with the events of a schedule and a day that belong to the part of the stream that begins at a sequence.
func EventsName(namespace, scheduleID, day string, sequence uint64) string {
	return eventsPrefix(namespace, scheduleID, "") + day + "_" + partName(sequence)
}

// SaveEventIndex writes what says where the events of a day are that belong to the part of the stream that begins at a sequence. It is written after them.
func (b *Bucket) SaveEventIndex(ctx context.Context, namespace, day string, sequence uint64, all []Events) error {
	data, err := json.Marshal(eventIndex{all})
	if err != nil {
		return fmt.Errorf("archive: %w", err)
	}
	return b.Put(ctx, eventDaysPrefix(namespace, day)+partName(sequence), data)
}

// EventIndexes returns the names of the objects that say which events a namespace has: the newest day first, and within a day in the order of the stream.
// Those of one day only, unless it is empty.
func (b *Bucket) EventIndexes(ctx context.Context, namespace, day string) (names []string, err error) {
	err = b.each(ctx, eventDaysPrefix(namespace, day), func(name string) {
		if isPart(name, "/") {
			names = append(names, name)
		}
	})
	dayOf := func(name string) string { return name[:strings.LastIndexByte(name, '/')] }
	slices.SortFunc(names, func(x, y string) int {
		if dayOf(x) != dayOf(y) {
			return strings.Compare(y, x)
		}
		return strings.Compare(x, y)
	})
	return names, err
}

// EventIndex reads an object that [Bucket.EventIndexes] has named.
func (b *Bucket) EventIndex(ctx context.Context, name string) ([]Events, error) {
	var index eventIndex
	err := b.getJSON(ctx, name, &index)
	return index.Schedules, err
}

// EventObjects returns the names of the objects with the events of a schedule: by day, and within a day in the order of the stream. Those of one day only,
// unless it is empty.
func (b *Bucket) EventObjects(ctx context.Context, namespace, scheduleID, day string) (names []string, err error) {
	err = b.each(ctx, eventsPrefix(namespace, scheduleID, day), func(name string) {
		if isPart(name, "_") {
			names = append(names, name)
		}
	})
	slices.Sort(names)
	return names, err
}

// EventsOf reads an object that [Bucket.EventObjects] has named.
func (b *Bucket) EventsOf(ctx context.Context, name string) ([]json.RawMessage, error) {
	var stored storedEvents
	err := b.getJSON(ctx, name, &stored)
	return stored.Events, err
}

func (b *Bucket) getJSON(ctx context.Context, name string, into any) error {
	data, err := b.Get(ctx, name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, into); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrDiffers, name, err)
	}
	return nil
}

// partName ends the names of what belongs to the part of the stream that begins at a sequence.
func partName(sequence uint64) string { return fmt.Sprintf("%020d%s", sequence, extension) }

// isPart reports whether a name ends as those of a part do: a day, something that stands between, and a number. There are other names, such as that of a file
// that a process was writing when it died.
func isPart(name, between string) bool {
	name, number, found := cutLast(name, between)
	_, day, _ := cutLast(name, "/")
	sequence, err := strconv.ParseUint(strings.TrimSuffix(number, extension), 10, 64)
	_, noDay := ParseDay(day)
	return found && err == nil && number == partName(sequence) && noDay == nil
}

// cutLast cuts a text at the last place where it has something.
func cutLast(text, at string) (before, after string, found bool) {
	if i := strings.LastIndex(text, at); i >= 0 {
		return text[:i], text[i+len(at):], true
	}
	return text, "", false
}

// eventsPrefix begins the names of the objects with the events of a schedule, of one day, unless it is empty.
func eventsPrefix(namespace, scheduleID, day string) string {
	return namespace + "/schedules/" + Token(scheduleID) + "/" + day
}

// eventDaysPrefix begins the names of the objects that say which events there are, of one day, unless it is empty.
func eventDaysPrefix(namespace, day string) string {
	if day == "" {
		return namespace + "/schedule-days/"
	}
	return namespace + "/schedule-days/" + day + "/"
}

// EventsRequest asks for a page of what an archive has of the events of schedules. Empty fields ask for all.
type EventsRequest struct {
	ScheduleID string `json:"scheduleId,omitempty"`
	// Day is one such as 2026-11-28, in UTC, and Kind a kind of events that must be among them.
	Day  string `json:"day,omitempty"`
	Kind string `json:"kind,omitempty"`
	// Size is how much a page has at most; the server chooses if it is 0. Next is the token of the page; empty for the first.
	Size int    `json:"size,omitempty"`
	Next []byte `json:"next,omitempty"`
}

// EventsPage is a page of what an archive has of the events of schedules. It has one of the lists.
type EventsPage struct {
	Schedules []Events          `json:"schedules,omitempty"`
	Events    []json.RawMessage `json:"events,omitempty"`
	// Next is the token of the next page; empty if there is none.
	Next []byte `json:"next,omitempty"`
}
