package schedule

import (
	"strings"
	"time"

	"github.com/carillon-scheduler/carillon/internal/jsontext"
	"github.com/carillon-scheduler/carillon/internal/zonedata"
)

// LoadZone returns the time zone of an IANA name such as "Europe/Berlin"; the empty name is UTC. The rules are those of the
// data of this process (package internal/zonedata), never those of the host. Names that mean something else on each host
// ("Local", "localtime") are errors, as are unknown ones: an *Error without a path. Loading a name twice gives the same
// *time.Location. Safe for concurrent use.
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

// Location returns the zone in which the calendars and cron expressions of s are read: that of TimeZoneData if there is
// any, else the one TimeZone or the cron expressions name, else UTC. It fails, with an *Error and a path relative to the
// spec, when a cron expression cannot be read, when two of them or one and TimeZone disagree, and when the zone does not
// load (docs/semantics.md §2).
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

// ZoneName returns the one zone that TimeZone and the cron expressions agree on; "@every" has no zone and takes no part.
// An expression without a prefix stands in TimeZone. Zones are compared by name: "UTC" and "Etc/UTC" do not agree.
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
