package schedule

import "cmp"

// DST says what becomes of calendar and cron times when the clock changes (docs/semantics.md §2). It does not affect intervals and one-off
// times, which are instants. Nor does it affect exclusions: they compare the local clock time at the instant of each time.
type DST struct {
	// Gap is for local times that do not exist because the clock is set forward. Empty means GapSkip.
	Gap GapPolicy `json:"gap,omitempty"`
	// Repeat is for local times that come twice because the clock is set back. Empty means RepeatBoth.
	Repeat RepeatPolicy `json:"repeat,omitempty"`
}

// GapPolicy says what becomes of a local time that does not exist on that day.
type GapPolicy string

// The gap policies.
const (
	// GapSkip: the time never comes.
	GapSkip GapPolicy = "skip"
	// GapShift: the time moves to the first instant after the gap. All times in one gap become this one instant.
	GapShift GapPolicy = "shift"
)

// RepeatPolicy says what becomes of a local time that comes twice.
type RepeatPolicy string

// The repeat policies.
const (
	// RepeatBoth: the time is due twice.
	RepeatBoth RepeatPolicy = "both"
	// RepeatFirst: the time is due once, before the clock is set back.
	RepeatFirst RepeatPolicy = "first"
	// RepeatLast: the time is due once, after the clock was set back.
	RepeatLast RepeatPolicy = "last"
)

// Validate reports an unknown policy, as an *Error about "gap" or "repeat".
func (d DST) Validate() error {
	return cmp.Or(
		oneOf("gap", "a gap policy", d.Gap, GapSkip, GapShift),
		oneOf("repeat", "a repeat policy", d.Repeat, RepeatBoth, RepeatFirst, RepeatLast),
	)
}
