// Package specproc is the specification processor: it turns a [schedule.Spec] into times. It owns no state and no
// subject; everything in it is a pure function of its arguments, and a compiled [Spec] is safe for concurrent use.
//
// # The model
//
// A spec has sources (calendars, cron expressions, intervals, one-off times) and excludes (calendars, dates, blackouts,
// and named calendars that hold dates and blackouts). Its raw times are the union of what the sources match; its times
// are the raw times that no exclude matches, from the start to the end of the spec and never after the year 2100.
// Resolution is one second. What matches is one rule: every instant whose wall clock in the spec's zone matches. A wall
// time in a gap never comes, one in a repeated hour comes twice. Intervals do not look at the clock on the wall.
//
// A spec may have other rules for changes of the clock ([schedule.DST]). With [schedule.GapShift], calendar and cron times
// in a gap come at the first instant after it: together, once. With [schedule.RepeatFirst] or [schedule.RepeatLast], of
// two instants with the same wall clock only one counts. That concerns sources; excludes match instants as they are, so
// that a time which is shifted from 02:30 to 03:00 is excluded by what excludes 03:00.
//
// Excluded dates are whole days on the wall clock, of 23 or 25 hours where the clock changes. A blackout contains the
// instant at which it begins, and not the one at which it ends. Both take out one-off times and intervals as well.
//
// Each time is a pair: nominal is what the spec says, actual is when the action is due, nominal plus a jitter that
// depends on the nominal time and a seed alone and never reaches the following raw time. So nominal and actual times
// have the same order. Raw times have been through the rules for changes of the clock, and through no exclude: to exclude
// a time does not move its neighbours, and jitter may carry a time into a blackout.
//
// # What to call
//
//   - [Compile] validates a spec and prepares it; [CompileWith] does so for a spec that names calendars.
//   - [Spec.Next] answers by nominal time, [Spec.NextDue] and [Spec.Between] by actual time. Without jitter they agree.
//   - [Spec.MayClose] reports whether a schedule may have nothing to do any more.
//   - [Spec.ProcessTimeRange] is what the generator and the backfiller do with a stretch of time: which starts to
//     buffer, which were missed, superseded or dropped, up to where the work is done, and when to come back.
//
// Package prose, below this one, says in words when a spec is due and what may surprise in it.
//
// # How the search works
//
// A zone is a table of segments with one offset each. Inside a segment local time runs evenly, so a calendar is
// searched there by field, with a bit mask for each: the next matching month, the next matching day in it, hour, minute,
// second. The days of a month have one mask for each length that a month can have and each weekday that it can begin on,
// which is all that the day fields look at. A segment also knows the gap in front of it, and which part of it repeats.
// Nothing is tried second by second, and a search ends after the months up to the year 2100 at the latest.
//
// Excluded dates and blackouts are passed over as a whole. A time that an exclude calendar takes out leads to the seconds
// of its whole day, as a set of 1,440 words: sources in, excludes out, first one left. After some days without any, what
// made them so is remembered, and days of the same kind are passed over a month at a time, so that a spec whose every
// time is excluded is found to be empty within milliseconds.
//
// The package may import schedule and internal/wire.
package specproc
