package render

import (
	"fmt"
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// Progress writes in one line how far a backfill has come: "120/744  up to Thu 2026-03-05 23:00:00 CET".
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
