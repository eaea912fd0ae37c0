package schedules

import (
	"github.com/carillon-scheduler/carillon/internal/codec"
	"github.com/carillon-scheduler/carillon/schedule"
)

// checkBytes refuses a schedule whose stored size exceeds the limit maxScheduleBytes of its namespace. A schedule that was larger
// before, under another limit, may keep its size or shrink. before is nil for a new schedule.
func (s *Service) checkBytes(namespace string, before, now *schedule.Schedule) error {
	limit := s.bytesLimit(namespace)
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

// checkTriggerBytes applies the same limit to a trigger.
func (s *Service) checkTriggerBytes(namespace string, trigger *schedule.Trigger) error {
	limit := s.bytesLimit(namespace)
	if limit == 0 || trigger == nil {
		return nil
	}
	data, err := codec.Marshal(trigger)
	if err != nil || len(data) <= limit {
		return err
	}
	return errTooManyBytes("the trigger", namespace, len(data), limit)
}

// bytesLimit returns 0 if there is no limit, or if no namespaces are known here.
func (s *Service) bytesLimit(namespace string) int {
	known, _ := s.Registry.Known(namespace)
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
