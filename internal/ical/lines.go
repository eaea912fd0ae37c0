package ical

import (
	"errors"
	"fmt"
	"strings"
)

// calendarsOf splits a text into its calendars, and gives each the form that the library reads: without folded lines and
// meaningless properties, and with names and enumerations in capital letters. It finds an error that the library overlooks: a
// calendar or component that does not end.
func calendarsOf(text string) ([]string, error) {
	var calendars []string
	var open []string
	var calendar strings.Builder
	for number, line := range unfolded(text) {
		name, parameters, value, ok := cutLine(line)
		switch {
		case !ok:
			return nil, fmt.Errorf("line %d has no colon", number)
		case len(open) == 0 && (name != "BEGIN" || !strings.EqualFold(value, "VCALENDAR")):
			return nil, fmt.Errorf("line %d stands outside of a calendar", number)
		case name == "BEGIN":
			value = strings.ToUpper(value)
			open = append(open, value)
		case name == "END":
			value = strings.ToUpper(value)
			if last := open[len(open)-1]; last != value {
				return nil, fmt.Errorf("line %d ends a %s, where a %s is open", number, value, last)
			}
			open = open[:len(open)-1]
		case isEnumeration[name]:
			value = strings.TrimRight(strings.ToUpper(strings.TrimSpace(value)), ";")
		}
		if value == "" && isOptional[name] {
			continue
		}
		calendar.WriteString(name + parameters + ":" + value + "\r\n")
		if len(open) == 0 {
			calendars = append(calendars, calendar.String())
			calendar.Reset()
		}
	}
	if len(open) > 0 {
		return nil, fmt.Errorf("ends too early: a %s has no end", open[len(open)-1])
	}
	if len(calendars) == 0 {
		return nil, errors.New("has no calendar in it")
	}
	return calendars, nil
}

// isEnumeration has the properties whose values are times, numbers or words of iCalendar. Their case does not matter.
var isEnumeration = map[string]bool{
	"DTSTART": true, "DTEND": true, "DURATION": true, "RRULE": true, "EXRULE": true, "RDATE": true, "EXDATE": true,
	"RECURRENCE-ID": true, "STATUS": true, "METHOD": true, "SEQUENCE": true,
}

// isOptional has the properties that mean nothing if they are empty. An empty DTSTART is an error instead.
var isOptional = map[string]bool{
	"DTEND": true, "DURATION": true, "RRULE": true, "EXRULE": true, "RDATE": true, "EXDATE": true, "RECURRENCE-ID": true, "STATUS": true,
	"METHOD": true, "SEQUENCE": true,
}

// unfolded yields the lines of a text with their numbers, counted from 1. A line that begins with a blank continues the previous
// one. Empty lines are skipped.
func unfolded(text string) func(yield func(int, string) bool) {
	return func(yield func(int, string) bool) {
		var line strings.Builder
		begin, number := 0, 0
		for next := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
			number++
			next = strings.TrimRight(next, "\r\n")
			if next != "" && (next[0] == ' ' || next[0] == '\t') && line.Len() > 0 {
				line.WriteString(next[1:])
				continue
			}
			if strings.TrimSpace(line.String()) != "" && !yield(begin, line.String()) {
				return
			}
			line.Reset()
			line.WriteString(next)
			begin = number
		}
		if strings.TrimSpace(line.String()) != "" {
			yield(begin, line.String())
		}
	}
}

// cutLine takes a line apart: its name, its parameters with their semicolons, and its value. Names come out in capital letters,
// and so do the values of VALUE and RANGE.
func cutLine(line string) (name, parameters, value string, ok bool) {
	colon := outsideQuotes(line, ':')
	if colon < 0 {
		return "", "", "", false
	}
	head, value := line[:colon], line[colon+1:]
	end := outsideQuotes(head, ';')
	if end < 0 {
		return strings.ToUpper(strings.TrimSpace(head)), "", value, true
	}
	name = strings.ToUpper(strings.TrimSpace(head[:end]))
	for rest := head[end:]; rest != ""; {
		rest = rest[1:]
		parameter := rest
		if next := outsideQuotes(rest, ';'); next >= 0 {
			parameter = rest[:next]
		}
		rest = rest[len(parameter):]
		key, setting, found := strings.Cut(parameter, "=")
		if !found || setting == "" {
			continue
		}
		if key = strings.ToUpper(strings.TrimSpace(key)); key == "VALUE" || key == "RANGE" {
			setting = strings.ToUpper(setting)
		}
		parameters += ";" + key + "=" + setting
	}
	return name, parameters, value, true
}

// outsideQuotes returns the index of the first wanted character outside quotes; -1 if there is none.
func outsideQuotes(text string, wanted byte) int {
	quoted := false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == wanted && !quoted:
			return i
		}
	}
	return -1
}
