package events

import (
	"slices"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
	"github.com/carillon-scheduler/carillon/subjects"
)

// Query selects events. The zero Query selects all events of the installation.
type Query struct {
	// Key is the schedule. With an empty ID it means the whole namespace; an empty Key means all schedules.
	Key schedule.Key
	// Kinds keeps the events of those kinds; empty means all.
	Kinds []schedule.EventKind
	// From and To bound when the events were stored, both inclusive; zero means no bound.
	From, To time.Time
}

// filters returns the subjects of the events. They do not overlap, because the server demands that.
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
	// Stored is when the stream stored it.
	Stored time.Time
	// Size is how many bytes it has there.
	Size int
	schedule.Event
}

// Page is a part of the selected events, in the order in which they were stored, each once.
type Page struct {
	Entries []Entry
	// Next is the sequence of the last entry. The following page begins after it.
	Next uint64
	// More says that there are further events: later ones, or, for [Reader.Before], earlier ones.
	More bool
	// Corrupt counts the entries that are left out because they cannot be read.
	Corrupt int
	// Read is how many entries came from the stream for this page, Bytes how many bytes they have. Some are not in the page: those around
	// it, repeats, and those that cannot be read.
	Read, Bytes int
}

// pageBytes bounds what a page keeps in memory: it ends early if its events have more bytes. It has at least one event nevertheless.
const pageBytes = 8 << 20

// collector makes a page from entries that come in order.
type collector struct {
	page Page
	// kept is how many bytes the entries of the page have.
	kept int
	seen map[string]struct{}
}

func newCollector() *collector { return &collector{seen: map[string]struct{}{}} }

// isFull reports whether a page of up to limit entries can hold no other.
func (c *collector) isFull(limit int) bool {
	return len(c.page.Entries) == limit || c.kept >= pageBytes
}

// keepLast drops the first entries of a page that holds too much.
func (c *collector) keepLast(limit int) {
	for len(c.page.Entries) > limit || c.kept > pageBytes && len(c.page.Entries) > 1 {
		c.kept -= c.page.Entries[0].Size
		c.page.Entries, c.page.More = c.page.Entries[1:], true
	}
}

// account notes what a cursor has read.
func (c *collector) account(from *cursor) {
	c.page.Corrupt, c.page.Read, c.page.Bytes = from.corrupt, from.read, from.bytes
}

// has reports whether the event is in the page already.
func (c *collector) has(e *Entry) bool {
	_, ok := c.seen[e.ID]
	return ok
}

func (c *collector) add(e Entry) {
	c.seen[e.ID] = struct{}{}
	c.kept += e.Size
	c.page.Entries = append(c.page.Entries, e)
	c.page.Next = e.Sequence
}
