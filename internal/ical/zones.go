package ical

import (
	"fmt"
	"strings"
	"time"

	ics "github.com/arran4/golang-ical"

	"github.com/carillon-scheduler/carillon/schedule"
)

//go:generate go run ./windowsgen windows.go

// zones are the time zones that a file describes, by the file's names for them. Their names in the IANA database count, not the
// clock changes that the file describes.
type zones map[string]*time.Location

func zonesOf(file *ics.Calendar) zones {
	known := zones{}
	for _, zone := range file.Timezones() {
		id := zone.GetProperty(ics.ComponentPropertyTzid)
		if id == nil {
			continue
		}
		if location := described(zone); location != nil {
			known[id.Value] = location
		}
	}
	return known
}

// described finds out which zone a file means if its name alone does not say. It uses the name that some programs add, or the
// offset of a zone without clock changes.
func described(zone *ics.VTimezone) *time.Location {
	if name := zone.GetProperty("X-LIC-LOCATION"); name != nil {
		if location := load(name.Value); location != nil {
			return location
		}
	}
	parts := zone.SubComponents()
	if len(parts) != 1 {
		return nil
	}
	standard, ok := parts[0].(*ics.Standard)
	if !ok || standard.GetProperty(ics.ComponentPropertyRrule) != nil {
		return nil
	}
	offset := standard.GetProperty("TZOFFSETTO")
	if offset == nil {
		return nil
	}
	t, err := time.Parse("-0700", offset.Value)
	if err != nil {
		return nil
	}
	_, seconds := t.Zone()
	return time.FixedZone(offset.Value, seconds)
}

// location returns the zone of a name. It tries, in this order, the IANA database, also after a prefix such as
// /mozilla.org/20070129_1/, then the zones that the file describes, then the Windows names, as Outlook and Exchange write them.
func (z zones) location(id string) (*time.Location, error) {
	for rest := strings.TrimPrefix(id, "/"); ; {
		if location := load(rest); location != nil {
			return location, nil
		}
		_, after, found := strings.Cut(rest, "/")
		if !found {
			break
		}
		rest = after
	}
	if location := z[id]; location != nil {
		return location, nil
	}
	if location := load(windowsZones[id]); location != nil {
		return location, nil
	}
	return nil, fmt.Errorf("time zone %q is not one of the IANA database: replace it by one in the file, such as Europe/Berlin", id)
}

// load returns a zone of the IANA database; nil if it has none of that name.
func load(name string) *time.Location {
	if name == "" {
		return nil
	}
	location, err := schedule.LoadZone(name)
	if err != nil {
		return nil
	}
	return location
}
