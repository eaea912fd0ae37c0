package scheduleproto

import (
	"time"

	schedulepb "go.temporal.io/api/schedule/v1"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// Patch reads a patch. The ID of the schedule is left to the caller.
func Patch(p *schedulepb.SchedulePatch) (r schedule.PatchRequest, err error) {
	if p.GetTimeSkippingConfig() != nil {
		return r, unimplemented("patch.timeSkippingConfig")
	}
	if p.GetPause() != "" {
		r.Pause = &schedule.Note{Note: p.GetPause()}
	}
	if p.GetUnpause() != "" {
		r.Unpause = &schedule.Note{Note: p.GetUnpause()}
	}
	if r.Trigger, err = parseTrigger(p.GetTriggerImmediately()); err != nil {
		return r, schedule.Prefix("patch.triggerImmediately", err)
	}
	for i, backfill := range p.GetBackfillRequest() {
		one, err := parseBackfill(backfill)
		if err != nil {
			return r, schedule.Prefix(jsontext.Indexed("patch.backfillRequest", i), err)
		}
		r.Backfills = append(r.Backfills, one)
	}
	return r, nil
}

func parseTrigger(p *schedulepb.TriggerImmediatelyRequest) (*schedule.Trigger, error) {
	if p == nil {
		return nil, nil
	}
	overlap, err := parseOverlap(p.OverlapPolicy)
	if err != nil {
		return nil, err
	}
	at, err := parseTime("scheduledTime", p.ScheduledTime)
	return &schedule.Trigger{Overlap: overlap, NominalTime: at.Truncate(time.Second)}, err
}

func parseBackfill(p *schedulepb.BackfillRequest) (r schedule.BackfillRange, err error) {
	if r.Start, err = parseTime("startTime", p.GetStartTime()); err != nil {
		return r, err
	}
	if r.End, err = parseTime("endTime", p.GetEndTime()); err != nil {
		return r, err
	}
	r.Overlap, err = parseOverlap(p.GetOverlapPolicy())
	return r, err
}
