package crontab

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/importer"
	"github.com/carillon-scheduler/carillon/schedule"
)

// variable is a variable that the lines so far have set.
type variable struct{ name, value string }

// set reads a line such as NAME=value, and reports whether it is one.
func (c *table) set(line string) bool {
	v, ok := readVariable(line)
	if !ok {
		return false
	}
	c.variables = slices.DeleteFunc(c.variables, func(old variable) bool { return old.name == v.name })
	c.variables = append(c.variables, v)
	return true
}

// readVariable reads an assignment. Name and value may each be in quotes of either kind, and nothing may follow those. An
// unquoted name has no blanks; an unquoted value ends before the blanks at the end of the line.
func readVariable(line string) (v variable, ok bool) {
	name, rest, ok := cutQuoted(line)
	if !ok {
		if isQuote(line) {
			return v, false
		}
		end := strings.IndexAny(line, "="+blanks)
		if end < 0 {
			return v, false
		}
		name, rest = line[:end], line[end:]
	}
	value, ok := strings.CutPrefix(strings.TrimLeft(rest, blanks), "=")
	if !ok || strings.Contains(name, "=") {
		return v, false
	}
	value = strings.TrimSpace(value)
	if isQuote(value) {
		value, rest, ok = cutQuoted(value)
		return variable{name, value}, ok && rest == ""
	}
	return variable{name, value}, true
}

// cutQuoted cuts a text in quotes off the front.
func cutQuoted(text string) (quoted, rest string, ok bool) {
	if !isQuote(text) {
		return "", "", false
	}
	return strings.Cut(text[1:], text[:1])
}

// isQuote reports whether a text begins with a quote.
func isQuote(text string) bool { return text != "" && (text[0] == '"' || text[0] == '\'') }

// value returns the value of a variable; empty if it is not set.
func (c *table) value(name string) string {
	for _, v := range c.variables {
		if v.name == name {
			return v.value
		}
	}
	return ""
}

// shell returns the name by which the worker knows the shell.
func (c *table) shell() string {
	shell := c.value("SHELL")
	if shell == "" {
		return "sh"
	}
	return path.Base(shell)
}

// apply applies the variables to an entry, and adds notes about those that have no counterpart.
func (c *table) apply(s *importer.Entry) {
	s.Spec.TimeZone = strings.TrimPrefix(c.value("CRON_TZ"), ":")
	s.HostZone = s.Spec.TimeZone == ""
	for _, v := range c.variables {
		switch v.name {
		case "CRON_TZ", "SHELL":
		case "RANDOM_DELAY":
			randomDelay(s, v.value)
		case "TZ":
			s.Note("the variable TZ=%s is not set for the command, which it concerns alone: cron takes the zone of the times from CRON_TZ", v.value)
		case "MAILTO":
			if v.value != "" {
				s.Note("the variable MAILTO is not set for the command, and no mail is sent")
			}
		default:
			s.Note("the variable %s is not set for the command", v.name)
		}
	}
}

// maxRandomDelay is the largest value that cronie accepts, in minutes.
const maxRandomDelay = 24 * 60

// randomDelay makes a jitter from the variable. Cronie reads the digits at its beginning.
func randomDelay(s *importer.Entry, value string) {
	digits := strings.TrimLeft(value, blanks)
	if end := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = digits[:end]
	}
	minutes, err := strconv.Atoi(cmp.Or(digits, "0"))
	switch {
	case err != nil, minutes > maxRandomDelay, strings.HasPrefix(strings.TrimSpace(value), "-"):
		s.Note("RANDOM_DELAY=%s has no meaning, as for cron: it is a number of minutes from 0 to %d", value, maxRandomDelay)
	case minutes > 0:
		addJitter(s, time.Duration(minutes)*time.Minute, "RANDOM_DELAY="+value)
	}
}

// addJitter adds to the jitter of a schedule.
func addJitter(s *importer.Entry, most time.Duration, because string) {
	s.Spec.Jitter += schedule.Duration(most)
	s.Note("%s becomes a jitter of up to %v, which differs from time to time: cron draws it once", because, schedule.Duration(most))
}
