// Package specproc is the specification processor: it turns a [schedule.Spec] into times. It owns no state and no
// subject; everything in it is a pure function of its arguments, and a compiled [Spec] is safe for concurrent use.
//
// # The model
//
// A spec has sources (calendars, cron expressions, intervals, one-off times) and excludes (calendars). Its raw times are
// the union of what the sources match; its times are the raw times that no exclude matches, from the start to the end
// of the spec and never after the year 2100. Resolution is one second. What matches is one rule: every instant whose
// wall clock in the spec's zone matches. A wall time in a gap never comes, one in a repeated hour comes twice. Intervals
// do not look at the clock on the wall.
//
// Each time is a pair: nominal is what the spec says, actual is when the action is due, nominal plus a jitter that
// depends on the nominal time and a seed alone and never reaches the following raw time. So nominal and actual times
// have the same order.
//
// # What to call
//
//   - [Compile] validates a spec and prepares it.
//   - [Spec.Next] answers by nominal time, [Spec.NextDue] and [Spec.Between] by actual time. Without jitter they agree.
//   - [Spec.ProcessTimeRange] is what the generator and the backfiller do with a stretch of time: which starts to
//     buffer, which were missed or dropped, up to where the work is done, and when to come back.
//
// # How the search works
//
// A zone is a table of segments with one offset each. Inside a segment local time runs evenly, so a calendar is
// searched there by field, with a bit mask for each: the next matching month, the next matching day in it, hour, minute,
// second. Nothing is tried second by second, and a search ends after the months up to the year 2100 at the latest. A time
// that turns out to be excluded leads to the seconds of its whole day, as a set of 1,440 words: sources in, excludes out,
// first one left. Days that an exclude covers entirely are passed over, and a kind of day that left nothing is not
// worked out twice, so that a spec whose every time is excluded is found to be empty within milliseconds.
package specproc
