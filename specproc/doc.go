// Package specproc is the specification processor: it turns a [schedule.Spec] into times. It owns no state and no subject.
// Everything in it is a pure function of its arguments, and a compiled [Spec] is safe for concurrent use.
//
// # The model
//
// A spec has sources (calendars, cron expressions, intervals, one-off times) and excludes (calendars, dates, blackouts, and named
// calendars, which hold dates and blackouts). Its raw times are the union of the times that the sources match. Its times are the
// raw times that no exclude matches, from the start to the end of the spec and never after the year 2100. The resolution is one
// second. There is one rule for matching: an instant matches if its wall clock in the spec's zone matches. So a wall time in a
// gap never comes, and one in a repeated hour comes twice. Intervals ignore the wall clock.
//
// A spec may have other rules for changes of the clock ([schedule.DST]). With [schedule.GapShift], all calendar and cron times in
// a gap come together, once, at the first instant after the gap. With [schedule.RepeatFirst] or [schedule.RepeatLast], only one
// of two instants with the same wall clock counts. These rules concern sources; excludes match instants as they are. So an
// exclude that matches 03:00 also excludes a time that is shifted from 02:30 to 03:00.
//
// Excluded dates are whole days on the wall clock, of 23 or 25 hours where the clock changes. A blackout contains the instant at
// which it begins, and not the instant at which it ends. Both also exclude one-off times and intervals.
//
// Each time is a pair. The nominal time is what the spec says. The actual time is when the action is due: the nominal time plus a
// jitter that depends on the nominal time and a seed alone and never reaches the following raw time. So nominal and actual times
// have the same order. Raw times follow the rules for changes of the clock, and no exclude: to exclude a time does not move its
// neighbours, and jitter may carry a time into a blackout.
//
// # What to call
//
//   - [Compile] validates a spec and prepares it; [CompileWith] does so for a spec that names calendars.
//   - [Spec.Next] answers by nominal time, [Spec.NextDue] and [Spec.Between] by actual time. Without jitter they agree.
//   - [Spec.MayClose] reports whether a schedule may have nothing to do any more.
//   - [Spec.ProcessTimeRange] is what the generator and the backfiller do with a stretch of time. It returns which starts to
//     buffer, which were missed, superseded or dropped, up to where the work is done, and when to come back.
//
// Package prose, below this one, describes in words when a spec is due and what may surprise in it.
//
// # How the search works
//
// A zone is a table of segments with one offset each. Inside a segment local time runs evenly, so a calendar is searched there by
// field, with a bit mask for each: the next matching month, then the next matching day in it, hour, minute and second. The days
// of a month have one mask for each length that a month can have and each weekday that it can begin on, because the day fields
// depend on nothing else. A segment also knows the gap in front of it, and which part of it repeats. The search never tries
// second after second, and ends at the latest after the months up to the year 2100.
//
// The search passes over an excluded date or a blackout as a whole. When an exclude calendar removes a time, the search builds
// the seconds of the whole day as a set of 1,440 words: it adds the sources, removes the excludes, and takes the first second
// that is left. After some days without any, it remembers what makes such days empty and passes over days of the same kind a
// month at a time. So it finds within milliseconds that a spec has no time that is not excluded.
//
// The package may import schedule and internal/wire.
package specproc
