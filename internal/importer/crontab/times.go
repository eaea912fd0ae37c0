package crontab

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// macros are names that only systemd-cron knows, as expressions that all know.
var macros = map[string]string{
	"@minutely": "* * * * *", "@quarterly": "0 0 1 1,4,7,10 *",
	"@semi-annually": "0 0 1 1,7 *", "@semiannually": "0 0 1 1,7 *", "@bi-annually": "0 0 1 1,7 *", "@biannually": "0 0 1 1,7 *",
}

var timeFields = [...]struct {
	name    string
	maximum int
}{{"minute", 59}, {"hour", 23}, {"day of month", 31}, {"month", 12}, {"day of week", 7}}

const dayOfWeek = 4

// readTimes reads the fields of the time, or the name that replaces them.
func readTimes(s *importer.Entry, words []string) error {
	if words[0] == "@reboot" {
		return errors.New("@reboot has no time: start the command in another way")
	}
	if fields, known := macros[words[0]]; known {
		words = strings.Fields(fields)
	}
	fields := slices.Clone(words)
	if len(fields) == len(timeFields) {
		for i, field := range fields {
			var err error
			if fields[i], err = readField(s, i, field); err != nil {
				return fmt.Errorf("%s %q %w", timeFields[i].name, field, err)
			}
		}
	}
	s.Spec.Cron = []string{strings.Join(fields, " ")}
	_, err := schedule.ParseCron(s.Spec.Cron[0])
	s.HostDST = hostDST(words)
	return err
}

// hostDST is what cron does when the clocks of its host change. A command with a fixed time runs right after a gap and once in a
// repeated hour. A command with a star in front of minute or hour follows the clock.
func hostDST(words []string) schedule.DST {
	if words[0] == "@hourly" || strings.HasPrefix(words[0], "*") || len(words) > 1 && strings.HasPrefix(words[1], "*") {
		return schedule.DST{}
	}
	return schedule.DST{Gap: schedule.GapShift, Repeat: schedule.RepeatFirst}
}

// readField translates a field of cronie into Carillon's syntax. The error follows the name of the field.
func readField(s *importer.Entry, i int, field string) (string, error) {
	if strings.Contains(field, "~") {
		if i > 0 || strings.Contains(field, ",") {
			return "", errors.New("is random, which only a minute alone may be: write a value, and spec.jitter into the file")
		}
		return randomMinute(s, field)
	}
	terms := strings.Split(field, ",")
	for k, term := range terms {
		low, step, stepped := strings.Cut(term, "/")
		first, last, isRange := strings.Cut(low, "-")
		switch {
		case stepped && !isRange && low != "*" && low != "?":
			return "", fmt.Errorf("means different things to different crons: write %s, or %s-%d/%s", low, low, timeFields[i].maximum, step)
		case i == dayOfWeek && isRange && !stepped && isSunday(last) && !isSunday(first):
			terms[k] = first + "-7" // Sunday ends the week here
		}
	}
	return strings.Join(terms, ","), nil
}

func isSunday(day string) bool { return day == "0" || strings.EqualFold(day, "sun") }

// randomMinute reads "~", "x~", "~z" or "x~z": a minute that cron draws. It returns the first minute, and adds the rest as a
// jitter.
func randomMinute(s *importer.Entry, field string) (string, error) {
	low, high, _ := strings.Cut(field, "~")
	first, err := minuteOr(low, 0)
	last, err2 := minuteOr(high, 59)
	if err != nil || err2 != nil || first > last {
		return "", errors.New("is not a range of minutes: write it as 0~59")
	}
	if first < last {
		addJitter(s, time.Duration(last-first)*time.Minute, field)
	}
	return strconv.Itoa(first), nil
}

func minuteOr(text string, absent int) (int, error) {
	if text == "" {
		return absent, nil
	}
	minute, err := strconv.ParseUint(text, 10, 6)
	if err == nil && minute > 59 {
		err = strconv.ErrRange
	}
	return int(minute), err
}
