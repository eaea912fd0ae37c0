package subjects

import (
	"fmt"
	"strings"
)

// keyCalendar is what the keys of named calendars in the cluster bucket begin with: calendar.<namespace>.<name>.
const keyCalendar = "calendar."

// CalendarKey is the KV key of a named calendar.
func CalendarKey(namespace, name string) string { return keyCalendar + namespace + "." + Escape(name) }

// DeletedCalendarKey is the KV key of what remembers, for a while, who has deleted a calendar.
func DeletedCalendarKey(namespace, name string) string {
	return "deleted-" + CalendarKey(namespace, name)
}

// CalendarKeys matches the KV keys of all named calendars of a namespace.
func CalendarKeys(namespace string) string { return keyCalendar + namespace + ".*" }

// ParseCalendarKey returns the calendar that a key made by [CalendarKey] is about.
func ParseCalendarKey(key string) (namespace, name string, err error) {
	tokens := strings.Split(key, ".")
	if len(tokens) != 3 || !strings.HasPrefix(key, keyCalendar) {
		return "", "", fmt.Errorf("subjects: %q is not the key of a calendar", key)
	}
	name, err = Unescape(tokens[2])
	return tokens[1], name, err
}
