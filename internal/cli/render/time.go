package render

import (
	"fmt"
	"time"
)

// Relative says in one unit how far t is from now: "in 3m", "5s ago", "now".
func Relative(t, now time.Time) string {
	distance := t.Sub(now)
	switch {
	case distance.Abs() < time.Second:
		return "now"
	case distance < 0:
		return span(-distance) + " ago"
	}
	return "in " + span(distance)
}

// span writes a positive duration in one unit, rounded down: "45s", "3m", "5h", "12d".
func span(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Millis writes a short duration for people: "3 ms", "0.4 ms", "2.00 s", "45 s", "3m20s".
func Millis(d time.Duration) string {
	switch size := d.Abs(); {
	case size < 10*time.Millisecond:
		return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
	case size < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case size < 10*time.Second:
		return fmt.Sprintf("%.2f s", d.Seconds())
	case size < 2*time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	}
	return d.Round(time.Second).String()
}

// moment writes a time in a zone, with the day of the week and the zone.
func moment(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 15:04:05 MST")
}

// precise writes a time to the millisecond, so that it can be compared with others.
func precise(t time.Time, zone *time.Location) string {
	return t.In(zone).Format("Mon 2006-01-02 15:04:05.000 MST")
}
