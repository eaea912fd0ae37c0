package schedule

import "cmp"

// DST says what becomes of the times of calendars and cron expressions when the clock on the wall is changed
// (docs/semantics.md §2). It does not matter to intervals and one-off times, which are instants, nor to what is excluded: excludes
// look at the clock on the wall at the instant at which a time comes.
type DST struct {
	// Gap is about wall times that do not exist because the clock is set forward. Empty means GapSkip.
	Gap GapPolicy `json:"gap,omitempty"`
	// Repeat is about wall times that come twice because the clock is set back. Empty means RepeatBoth.
	Repeat RepeatPolicy `json:"repeat,omitempty"`
}

// GapPolicy says what becomes of a time that a change of the clock skips.
type GapPolicy string

// The gap policies.
const (
	// GapSkip: it never comes.
	GapSkip GapPolicy = "skip"
	// GapShift: it comes at the first instant after the gap. All times in one gap come at that instant, once.
	GapShift GapPolicy = "shift"
)

// RepeatPolicy says what becomes of a time that the clock on the wall shows twice.
type RepeatPolicy string

// The repeat policies.
const (
	// RepeatBoth: it comes twice.
	RepeatBoth RepeatPolicy = "both"
	// RepeatFirst: it comes the first time, before the clock is set back.
	RepeatFirst RepeatPolicy = "first"
	// RepeatLast: it comes the second time, after the clock was set back.
	RepeatLast RepeatPolicy = "last"
)

// Validate reports a policy that is not known, as an *Error about "gap" or "repeat".
func (d DST) Validate() error {
	return cmp.Or(
		oneOf("gap", "a gap policy", d.Gap, GapSkip, GapShift),
		oneOf("repeat", "a repeat policy", d.Repeat, RepeatBoth, RepeatFirst, RepeatLast),
	)
}
