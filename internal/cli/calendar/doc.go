// Package calendar draws the months of a spec for a terminal: every day with the number of times that something is due on it, in the zone
// of the spec. It marks the days on which the clocks change, and explains them below.
//
// [Count] counts and [Draw] draws; both are pure. Count counts a day in one step, however many times it has.
//
// The package may import specproc and internal/cli/render.
package calendar
