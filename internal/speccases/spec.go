package speccases

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// neutralSpec is a spec that accepts more forms of durations. Its own fields hide the fields of the same name in the spec.
type neutralSpec struct {
	schedule.Spec
	Intervals []neutralInterval `json:"intervals"`
	Jitter    neutralDuration   `json:"jitter"`
}

type neutralInterval struct {
	Every neutralDuration `json:"every"`
	Phase neutralDuration `json:"phase"`
}

// neutralDuration has the syntax of [time.ParseDuration], optionally with days in front, such as "1d12h". The empty string is
// zero.
type neutralDuration schedule.Duration

// ParseSpec reads a spec of the neutral form. Unknown fields are errors, with their path.
func ParseSpec(text []byte) (schedule.Spec, error) {
	var neutral neutralSpec
	if err := apitext.DecodeJSON(text, &neutral); err != nil {
		return schedule.Spec{}, err
	}
	spec := neutral.Spec
	spec.Jitter = schedule.Duration(neutral.Jitter)
	for _, i := range neutral.Intervals {
		spec.Intervals = append(spec.Intervals, schedule.Interval{
			Every: schedule.Duration(i.Every), Phase: schedule.Duration(i.Phase),
		})
	}
	return spec, nil
}

// UnmarshalJSON reads a string.
func (d *neutralDuration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("must be a string such as \"90m\", not %s", data)
	}
	parsed, err := parseDuration(text)
	*d = neutralDuration(parsed)
	return err
}

// maxDays is how many whole days fit into a time.Duration.
const maxDays = int64(1<<63-1) / int64(24*time.Hour)

func parseDuration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	rest := text
	var days time.Duration
	if before, after, found := strings.Cut(text, "d"); found {
		n, err := strconv.ParseUint(before, 10, 31)
		if err != nil || int64(n) > maxDays {
			return 0, fmt.Errorf("%q is not a duration: write a number and a unit, such as 90m or 2d", text)
		}
		days, rest = time.Duration(n)*24*time.Hour, after
		if rest == "" {
			return days, nil
		}
	}
	d, err := time.ParseDuration(rest)
	if err != nil || days > 0 && days+d < d {
		return 0, fmt.Errorf("%q is not a duration: write a number and a unit, such as 90m or 2d", text)
	}
	return days + d, nil
}
