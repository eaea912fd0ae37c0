package events

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Query says which events are meant. The zero Query means all of the installation.
type Query struct {
	// Key is the schedule; an empty ID means all of the namespace, an empty Key all there are.
	Key schedule.Key
	// Kinds keeps the events of those kinds; empty means all.
	Kinds []schedule.EventKind
	// From and To bound when the events were stored, both inclusive; zero means no bound.
	From, To time.Time
}

// filters are the subjects of the events, which do not overlap, as the server demands.
func (q *Query) filters(names subjects.Names) []string {
	if len(q.Kinds) == 0 {
		return []string{names.Events(q.Key)}
	}
	kinds := slices.Compact(slices.Sorted(slices.Values(q.Kinds)))
	filters := make([]string, len(kinds))
	for i, kind := range kinds {
		filters[i] = filter(names, q.Key, kind)
	}
	return filters
}

func filter(names subjects.Names, key schedule.Key, kind schedule.EventKind) string {
	if key.Namespace != "" && key.ID != "" {
		return names.Event(key, kind)
	}
	anyID := "*."
	if key.Namespace == "" {
		anyID = "*.*."
	}
	return strings.TrimSuffix(names.Events(key), ">") + anyID + string(kind)
}

// Entry is a stored event.
type Entry struct {
	// Sequence is its place in the event stream.
	Sequence uint64
	// Stored is when the stream took it in.
	Stored time.Time
	schedule.Event
}

// Page is a part of the events that a query means, in the order in which they were stored, each once.
type Page struct {
	Entries []Entry
	// Next is what to begin after for the following page: the sequence of the last entry.
	Next uint64
	// More says that there are others: later ones, or for [Reader.Before] earlier ones.
	More bool
	// Corrupt counts the entries that could not be read and are left out.
	Corrupt int
}

// collector makes a page of entries that come in order.
type collector struct {
	page Page
	seen map[string]struct{}
}

func newCollector() *collector { return &collector{seen: map[string]struct{}{}} }

// has reports whether the event is in the page already.
func (c *collector) has(e *Entry) bool {
	_, ok := c.seen[e.ID]
	return ok
}

func (c *collector) add(e Entry) {
	c.seen[e.ID] = struct{}{}
	c.page.Entries = append(c.page.Entries, e)
	c.page.Next = e.Sequence
}
