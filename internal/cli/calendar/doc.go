// Package calendar draws the months of a spec for a terminal: every day with how often something is due on it, in the zone
// of the spec. Days on which the clocks change are marked and explained below.
//
// [Count] counts and [Draw] draws; both are pure. A day is counted in one step, however many times are in it.
//
// The package may import specproc and internal/cli/render.
package calendar
