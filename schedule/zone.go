package schedule

import (
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// LoadZone returns the time zone of an IANA name such as "Europe/Berlin"; the empty name is UTC. The rules come from the zone data of this
// process (package internal/zonedata), never from the host. Unknown names are errors, and so are names that mean something else on each
// host ("Local", "localtime"). The error is an *Error without a path. Loading a name twice gives the same *time.Location. It is safe for
// concurrent use.
func LoadZone(name string) (*time.Location, error) {
	if strings.EqualFold(name, "local") || strings.EqualFold(name, "localtime") {
		return nil, Invalid("", "%q depends on the host: use an IANA name such as Europe/Berlin, or UTC", name)
	}
	loc, err := zonedata.Current().Load(name)
	if err != nil {
		return nil, Invalid("", "%q is not a known time zone: use an IANA name such as Europe/Berlin, or UTC", jsontext.Shorten(name))
	}
	return loc, nil
}

// Location returns the time zone of the calendars and cron expressions of s. It takes the first of these that is set:
//
//  1. the zone in TimeZoneData;
//  2. the zone that TimeZone or the cron expressions name;
//  3. UTC.
//
// It fails if a cron expression cannot be read, if two expressions, or one and TimeZone, name different zones, or if the zone does not load
// (docs/semantics.md §2). The error is an *Error with a path relative to the spec.
func (s Spec) Location() (*time.Location, error) {
	name, err := s.ZoneName()
	if err != nil {
		return nil, err
	}
	if len(s.TimeZoneData) == 0 {
		loc, err := LoadZone(name)
		return loc, Prefix("timeZone", err)
	}
	loc, err := time.LoadLocationFromTZData(name, s.TimeZoneData)
	if err != nil {
		return nil, Invalid("timeZoneData", "is not a compiled time zone file: give the contents of one (RFC 9636)")
	}
	return loc, nil
}

// ZoneName returns the one zone that TimeZone and the cron expressions agree on. "@every" has no zone and is ignored. An expression without
// a prefix uses TimeZone. Zones are compared by name: "UTC" and "Etc/UTC" do not agree.
func (s Spec) ZoneName() (string, error) {
	name, seen := s.TimeZone, s.TimeZone != ""
	for i, text := range s.Cron {
		cron, err := ParseCron(text)
		if err != nil {
			return "", Prefix(jsontext.Indexed("cron", i), err)
		}
		if cron.Interval != nil {
			continue
		}
		zone := cron.TimeZone
		if zone == "" {
			zone = s.TimeZone
		}
		if seen && zone != name {
			return "", Invalid(jsontext.Indexed("cron", i), "stands in time zone %q, but the spec or an earlier expression in %q: "+
				"all must name the same zone", orUTC(zone), orUTC(name))
		}
		name, seen = zone, true
	}
	return name, nil
}

func orUTC(zone string) string {
	if zone == "" {
		return "UTC (by default)"
	}
	return zone
}
