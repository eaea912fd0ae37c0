package frontend

import (
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/schedule"
)

// checkBytes refuses a schedule that is larger as it is stored than the limit maxScheduleBytes of its namespace allows. One that has been
// larger before, when there was another limit, may stay so or shrink; before is nil where there was none.
func (a *api) checkBytes(namespace string, before, now *schedule.Schedule) error {
	limit := a.bytesLimit(namespace)
	if limit == 0 {
		return nil
	}
	size, err := scheduleSize(now)
	if err != nil || size <= limit {
		return err
	}
	if before != nil {
		if had, err := scheduleSize(before); err != nil || size <= had {
			return err
		}
	}
	return errTooManyBytes("the schedule", namespace, size, limit)
}

// checkTriggerBytes refuses a trigger by the same limit.
func (a *api) checkTriggerBytes(namespace string, trigger *schedule.Trigger) error {
	limit := a.bytesLimit(namespace)
	if limit == 0 || trigger == nil {
		return nil
	}
	data, err := codec.Marshal(trigger)
	if err != nil || len(data) <= limit {
		return err
	}
	return errTooManyBytes("the trigger", namespace, len(data), limit)
}

// bytesLimit is 0 where there is no limit, or nobody who knows of one.
func (a *api) bytesLimit(namespace string) int {
	if a.namespaces == nil {
		return 0
	}
	known, _ := a.namespaces.table.Get(namespace)
	return known.Limits.MaxScheduleBytes
}

// scheduleSize leaves out the state, which is small: whatever the limit is, a schedule can be paused.
func scheduleSize(s *schedule.Schedule) (int, error) {
	stored := *s
	stored.State = schedule.State{}
	data, err := codec.Marshal(&stored)
	return len(data), err
}

func errTooManyBytes(what, namespace string, size, limit int) error {
	return schedule.Invalid("limits.maxScheduleBytes",
		"%s has %d bytes as it is stored, and namespace %q allows at most %d: store the input elsewhere and pass a reference",
		what, size, namespace, limit)
}
