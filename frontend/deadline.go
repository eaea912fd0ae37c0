package frontend

import (
	"time"

	"github.com/carillon-scheduler/carillon/schedule"
)

// timeLimit returns how long a request may take that says so in its header, but no longer than most. hurried says that its
// own limit is the shorter one.
func timeLimit(header string, most time.Duration) (limit time.Duration, hurried bool, err error) {
	if header == "" {
		return most, false, nil
	}
	asked, err := time.ParseDuration(header)
	if err != nil {
		return most, false, schedule.Errorf(schedule.CodeInvalidArgument,
			"the header %s is %q, which is not a duration: write a number with a unit, such as 1500ms, or leave it out",
			schedule.HeaderTimeout, brief(header))
	}
	return min(asked, most), asked < most, nil
}

// errTooLate is for a request that nobody has begun to work on within its own limit.
func errTooLate(limit time.Duration) error {
	return schedule.Errorf(schedule.CodeUnavailable,
		"the %s that the request had, by its header %s, were over before any work on it: nothing has been done",
		limit, schedule.HeaderTimeout)
}

// errOverdue is for a request that was not carried through within its own limit.
func errOverdue(limit time.Duration) *schedule.Error {
	return schedule.Errorf(schedule.CodeUnavailable,
		"the %s that the request had, by its header %s, were over before NATS had answered, so it is not known whether it was "+
			"carried out: try again, where there is a requestId with the same one", limit, schedule.HeaderTimeout)
}
