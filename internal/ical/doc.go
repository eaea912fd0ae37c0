// Package ical reads the dates and windows of a named calendar from an iCalendar file (RFC 5545), such as public holidays, or the
// freezes in a team's shared calendar.
//
// [Read] is pure. Events of whole days become dates, others become windows. Repeating events may have any number of times, so
// only some years are read. What cannot be read exactly is an error and never left out silently, except for what does not take
// place as an event: cancelled events, tasks, notes.
//
// The package imports schedule, and two libraries that take the file and its rules of recurrence apart.
package ical
