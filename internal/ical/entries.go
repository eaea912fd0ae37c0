package ical

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	ics "github.com/arran4/golang-ical"
)

// entry is an event of a file, or its cancellation.
type entry struct {
	*ics.VEvent
	zones zones
	// recurrence is which time of a repeating event this one replaces; empty for the event itself.
	recurrence string
	sequence   int
	// canceled means that it does not take place; byMethod means that it is no event itself, but cancels another one.
	canceled, byMethod bool
}

// entriesOf returns the events of one calendar.
func entriesOf(file *ics.Calendar) ([]entry, error) {
	var all []entry
	known, cancels := zonesOf(file), false
	for _, property := range file.CalendarProperties {
		cancels = cancels || property.IANAToken == string(ics.PropertyMethod) && property.Value == string(ics.MethodCancel)
	}
	for _, event := range file.Events() {
		e := entry{VEvent: event, zones: known, canceled: cancels || isCanceled(event), byMethod: cancels}
		if property := event.GetProperty(ics.ComponentPropertyRecurrenceId); property != nil {
			e.recurrence = property.Value
		}
		if property := event.GetProperty(ics.ComponentPropertySequence); property != nil {
			number, err := strconv.ParseUint(property.Value, 10, 31)
			if err != nil {
				return nil, fmt.Errorf("event %s: SEQUENCE: %q is not a number", nameOf(event), property.Value)
			}
			e.sequence = int(number)
		}
		all = append(all, e)
	}
	return all, nil
}

func isCanceled(e *ics.VEvent) bool {
	status := e.GetProperty(ics.ComponentPropertyStatus)
	return status != nil && strings.EqualFold(status.Value, string(ics.ObjectStatusCancelled))
}

// current keeps the entries that count (RFC 5546, 2.1.5). Of several versions of an event, or of one of its times, these are the
// ones with the highest sequence. An event that was canceled since has none.
func current(all []entry) []entry {
	type version struct{ id, recurrence string }
	newest, canceled := map[version]int{}, map[version]int{}
	for _, e := range all {
		v := version{e.Id(), e.recurrence}
		newest[v] = max(newest[v], e.sequence)
		if before, known := canceled[v]; e.byMethod && (!known || e.sequence > before) {
			canceled[v] = e.sequence
		}
	}
	for _, e := range all {
		v := version{e.Id(), e.recurrence}
		if before, known := canceled[v]; e.canceled && e.sequence > 0 && e.sequence == newest[v] && (!known || e.sequence > before) {
			canceled[v] = e.sequence
		}
	}
	return slices.DeleteFunc(all, func(e entry) bool {
		v := version{e.Id(), e.recurrence}
		whole, ended := canceled[version{id: e.Id()}]
		one, oneEnded := canceled[v]
		switch {
		case e.sequence < newest[v]:
			return true
		case e.recurrence == "":
			return ended && e.sequence <= whole
		case ended && e.sequence <= whole:
			return true
		}
		return oneEnded && e.sequence <= one && !e.canceled
	})
}
