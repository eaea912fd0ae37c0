package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/apitext"
	"github.com/carillon-scheduler/carillon/schedule"
)

// parseInterval reads "every" or "every/phase", such as 90s or 1h/5m.
func parseInterval(text string) (interval schedule.Interval, err error) {
	every, phase, hasPhase := strings.Cut(text, "/")
	if interval.Every, err = schedule.ParseDuration(every); err != nil {
		return interval, err
	}
	if hasPhase {
		interval.Phase, err = schedule.ParseDuration(phase)
	}
	return interval, err
}

// parseBlackout reads "from/to".
func parseBlackout(text string) (blackout schedule.Blackout, err error) {
	from, to, ok := strings.Cut(text, "/")
	if !ok {
		return blackout, fmt.Errorf("%q is not a stretch of time: write 2030-01-31T22:00:00Z/2030-02-01T02:00:00Z", text)
	}
	if blackout.From, err = parseTime(from); err != nil {
		return blackout, err
	}
	blackout.To, err = parseTime(to)
	return blackout, err
}

// parseCalendar reads a calendar as JSON.
func parseCalendar(text string) (calendar schedule.Calendar, err error) {
	if err = apitext.DecodeJSON([]byte(text), &calendar); err != nil {
		return calendar, fmt.Errorf(`%w; write JSON such as {"hour": "9", "dayOfWeek": "mon-fri"}`, err)
	}
	return calendar, nil
}

// parseExcluded reads a calendar as JSON. If the text is the name of a calendar, the error says how to use a named one.
func parseExcluded(text string) (schedule.Calendar, error) {
	calendar, err := parseCalendar(text)
	if err != nil && !strings.HasPrefix(text, "{") {
		err = fmt.Errorf("%w; a calendar of the namespace is left out by --exclude-calendar-named", err)
	}
	return calendar, err
}

// parseRange returns a function that reads "from/to".
func parseRange(at func(string) (time.Time, error)) func(string) (schedule.BackfillRange, error) {
	return func(text string) (r schedule.BackfillRange, err error) {
		from, to, ok := strings.Cut(text, "/")
		if !ok {
			return r, fmt.Errorf("%q is not a range of time: write 2030-01-01T00:00:00Z/2030-01-31T23:59:59Z", text)
		}
		if r.Start, err = at(from); err != nil {
			return r, err
		}
		if r.End, err = at(to); err == nil && r.End.Before(r.Start) {
			err = fmt.Errorf("%q ends before it begins", text)
		}
		return r, err
	}
}

// timeParser returns a function that reads a time in one of three forms:
//
//   - RFC 3339
//   - "+duration": from now on, rounded up to a whole second
//   - "-duration": before now, rounded down to a whole second
func timeParser(now func() time.Time) func(string) (time.Time, error) {
	return func(text string) (time.Time, error) {
		if before, relative := strings.CutPrefix(text, "-"); relative {
			d, err := parseDistance(before)
			return now().UTC().Add(-d).Truncate(time.Second), err
		}
		if after, relative := strings.CutPrefix(text, "+"); relative {
			d, err := parseDistance(after)
			return now().UTC().Add(d + time.Second - 1).Truncate(time.Second), err
		}
		t, err := time.Parse(time.RFC3339Nano, text)
		if err != nil {
			return time.Time{}, fmt.Errorf(
				"%q is not a time: write 2030-01-31T09:00:00Z, 2030-01-31T09:00:00+01:00, or +10m or -1h from now", text)
		}
		return t.UTC(), nil
	}
}

func parseDistance(text string) (time.Duration, error) {
	d, err := schedule.ParseDuration(text)
	if err != nil {
		return 0, fmt.Errorf("%q is not a distance from now: write a number with a unit, such as 10m, 1h30m or 168h", text)
	}
	return d.Std(), nil
}

func parseTime(text string) (time.Time, error) {
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return time.Time{}, fmt.Errorf("%q is not a time: write 2030-01-31T09:00:00Z or 2030-01-31T09:00:00+01:00", text)
	}
	return t.UTC(), nil
}

// jsonReader returns a function that reads JSON from the text itself, from the file after "@", or from standard input for "@-".
func (env Env) jsonReader() func(string) (json.RawMessage, error) {
	fromFile := env.jsonFileReader()
	return func(text string) (json.RawMessage, error) {
		if path, isFile := strings.CutPrefix(text, "@"); isFile {
			return fromFile(path)
		}
		return parseJSON(text)
	}
}

// jsonFileReader returns a function that reads JSON from a file, or from standard input for "-". It reads each file once: the same command
// line may be applied several times, and standard input can be read only once.
func (env Env) jsonFileReader() func(string) (json.RawMessage, error) {
	known := map[string][]byte{}
	return func(path string) (json.RawMessage, error) {
		if _, ok := known[path]; !ok {
			data, err := env.readInput(path)
			if err != nil {
				return nil, err
			}
			known[path] = data
		}
		return parseJSON(string(known[path]))
	}
}

func parseJSON(text string) (json.RawMessage, error) {
	if !json.Valid([]byte(text)) {
		return nil, errors.New(`not JSON: text needs quotes within the argument, such as '"text"'`)
	}
	return json.RawMessage(text), nil
}
