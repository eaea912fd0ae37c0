package render

import (
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// runningRows lists the runs in progress, the oldest first.
func (v View) runningRows(runs []schedule.Run, zone *time.Location) [][]string {
	if len(runs) == 0 {
		return nil
	}
	rows := [][]string{{"NOMINAL", "STARTED", "LATE", "TASK QUEUE", "WORKFLOW"}}
	for i := range runs {
		run := &runs[i]
		rows = append(rows, []string{
			nominalText(run, zone), Relative(run.StartTime, v.Now), late(run), oneLine(run.TaskQueue), oneLine(run.WorkflowID),
		})
	}
	return rows
}

func waitingTitle(info *schedule.Info) string {
	if info.BufferSize > len(info.Buffer) {
		return fmt.Sprintf("Waiting, the first %d of %d", len(info.Buffer), info.BufferSize)
	}
	return "Waiting"
}

// waitingRows lists the starts in the buffer, each with what it waits for.
func (v View) waitingRows(info *schedule.Info, policies *schedule.Policies, zone *time.Location) [][]string {
	if len(info.Buffer) == 0 {
		return nil
	}
	rows := [][]string{{"NOMINAL", "POLICY", "FOR", "SOURCE"}}
	for i := range info.Buffer {
		s := &info.Buffer[i]
		source := "the schedule"
		if s.Manual {
			source = oneLine(s.Source)
		}
		policy := s.Overlap.Or(policies.Overlap).Or(schedule.OverlapSkip)
		rows = append(rows, []string{s.NominalTime.In(zone).Format(time.DateTime), string(policy), v.waitsFor(s), source})
	}
	return rows
}

// waitsFor says what has to happen before a start becomes a run.
func (v View) waitsFor(s *schedule.WaitingStart) string {
	switch {
	case s.Delay != nil && s.Delay.By == schedule.DelayPendingRuns:
		return "other runs of the namespace to end"
	case s.Delay != nil && s.Delay.NotBefore.IsZero():
		return "its turn among the starts of the namespace"
	case s.Delay != nil:
		return "its turn among the starts of the namespace, " + Relative(s.Delay.NotBefore, v.Now)
	case s.Phase == schedule.PhaseDeferred:
		return "a run to end"
	case s.Phase == schedule.PhaseReady && s.Attempt > 1:
		return fmt.Sprintf("attempt %d to start it, %s", s.Attempt, Relative(s.BackoffUntil, v.Now))
	case s.Phase == schedule.PhaseReady:
		return "its run to be accepted"
	}
	return "its turn"
}

// backfillRows lists the triggers and backfills in progress, the oldest first.
func (v View) backfillRows(backfills []schedule.BackfillProgress, zone *time.Location) [][]string {
	if len(backfills) == 0 {
		return nil
	}
	rows := [][]string{{"ID", "ASKED", "BY", "POLICY", "FROM", "TO", "DONE"}}
	for _, b := range backfills {
		from, to := b.Start.In(zone).Format(time.DateTime), b.End.In(zone).Format(time.DateTime)
		if b.Trigger {
			from, to = "trigger", "-"
		}
		rows = append(rows, []string{
			b.BackfillID, Relative(b.RequestTime, v.Now), orDash(oneLine(b.Identity)), orDash(string(b.Overlap)), from, to,
			Progress(b, zone),
		})
	}
	return rows
}

// endedRows lists the runs that have ended, the newest last. Runs in progress have a section of their own.
func endedRows(runs []schedule.Run, zone *time.Location) [][]string {
	rows := [][]string{{"NOMINAL", "STATUS", "LATE", "TOOK", "WORKFLOW", "OUTCOME"}}
	for i := range runs {
		run := &runs[i]
		if run.Status == "" {
			continue
		}
		rows = append(rows, []string{
			nominalText(run, zone), runStatus(run), late(run), tookText(run), oneLine(run.WorkflowID),
			joinFilled(", ", attemptText(run.Attempt), outcomeText(&run.Outcome)),
		})
	}
	if len(rows) == 1 {
		return nil
	}
	if !slices.ContainsFunc(rows[1:], func(row []string) bool { return row[5] != "" }) {
		rows[0][5] = "" // the column is empty
	}
	return rows
}

// Progress writes the progress of a backfill in one line: "120/744  up to Thu 2026-03-05 23:00:00 CET".
func Progress(progress schedule.BackfillProgress, zone *time.Location) string {
	more := ""
	if progress.TotalCapped {
		more = "+"
	}
	line := fmt.Sprintf("%d/%d%s", progress.Done, progress.Total, more)
	if progress.Done > 0 && !progress.HighWaterMark.IsZero() {
		line += columnGap + "up to " + moment(progress.HighWaterMark, zone)
	}
	if progress.Canceled {
		line += columnGap + "being canceled"
	}
	return line
}
