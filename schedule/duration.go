package schedule

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
)

// Duration is a time.Duration that people write as "90s", "1h30m" or "250ms". In JSON and YAML it is a string in the syntax of
// [time.ParseDuration]; in storage it is an integer of nanoseconds.
type Duration time.Duration

// ParseDuration reads the syntax of [time.ParseDuration]. A bare number is an error: it has no unit.
func ParseDuration(text string) (Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a duration: write a number with a unit, such as 90s, 1h30m or 250ms",
			jsontext.Shorten(text))
	}
	return Duration(d), nil
}

// Std returns d as a [time.Duration].
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes d in the shortest form that ParseDuration reads back as d, such as "90s", "1h30m" or "1h".
func (d Duration) String() string {
	text := time.Duration(d).String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// MarshalJSON writes d as a string.
func (d Duration) MarshalJSON() ([]byte, error) { return json.Marshal(d.String()) }

// UnmarshalJSON reads a string.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("%s is not a duration: write a string with a unit, such as \"90s\"", jsontext.Describe(data))
	}
	parsed, err := ParseDuration(text)
	if err != nil {
		return err
	}
	*d = parsed
	return nil
}
