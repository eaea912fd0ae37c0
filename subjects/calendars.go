package subjects

import (
	"fmt"
	"strings"
)

// keyCalendar begins the keys of named calendars in the cluster bucket: calendar.<namespace>.<name>.
const keyCalendar = "calendar."

// CalendarKey is the KV key of a named calendar.
func CalendarKey(namespace, name string) string { return keyCalendar + namespace + "." + Escape(name) }

// DeletedCalendarKey is the KV key of the record that remembers, for a while, which request deleted a calendar.
func DeletedCalendarKey(namespace, name string) string {
	return "deleted-" + CalendarKey(namespace, name)
}

// CalendarKeys matches the KV keys of all named calendars of a namespace.
func CalendarKeys(namespace string) string { return keyCalendar + namespace + ".*" }

// ParseCalendarKey returns the calendar of a key made by [CalendarKey].
func ParseCalendarKey(key string) (namespace, name string, err error) {
	tokens := strings.Split(key, ".")
	if len(tokens) != 3 || !strings.HasPrefix(key, keyCalendar) {
		return "", "", fmt.Errorf("subjects: %q is not the key of a calendar", key)
	}
	name, err = Unescape(tokens[2])
	return tokens[1], name, err
}

// Other keys of the cluster bucket.
const (
	keyNamespace = "namespace."
	keyJob       = "job."
	keyStartRate = "rate."
	keyPlaces    = "places."
	keySearch    = "search-attributes."
)

// NamespaceKey is the KV key of a namespace: namespace.<name>.
func NamespaceKey(namespace string) string { return keyNamespace + namespace }

// NamespaceKeys matches the KV keys of all namespaces.
func NamespaceKeys() string { return keyNamespace + ">" }

// NamespaceOfKey returns the namespace of a key made by [NamespaceKey].
func NamespaceOfKey(key string) string { return strings.TrimPrefix(key, keyNamespace) }

// JobKey is the KV key of a background job of a namespace: job.<namespace>.<id>.
func JobKey(namespace, id string) string { return keyJob + namespace + "." + id }

// JobKeys matches the KV keys of all background jobs of a namespace.
func JobKeys(namespace string) string { return keyJob + namespace + ".*" }

// AllJobKeys matches the KV keys of the background jobs of all namespaces.
func AllJobKeys() string { return keyJob + ">" }

// StartRateKey is the KV key of what invokers share about the starts in a namespace: rate.<namespace>.
func StartRateKey(namespace string) string { return keyStartRate + namespace }

// PlacesKey is the KV key of the number of schedules in a namespace: places.<namespace>.
func PlacesKey(namespace string) string { return keyPlaces + namespace }

// SearchAttributesKey is the KV key of the search attributes that executions of a namespace may have: search-attributes.<namespace>.
func SearchAttributesKey(namespace string) string { return keySearch + namespace }

// NamespaceOfSearchAttributesKey returns the namespace of a key made by [SearchAttributesKey]; ok is false for any other key.
func NamespaceOfSearchAttributesKey(key string) (namespace string, ok bool) {
	return strings.CutPrefix(key, keySearch)
}
