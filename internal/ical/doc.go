// Package ical reads the dates and windows of a named calendar out of an iCalendar file (RFC 5545), such as public holidays,
// or the freezes that a team keeps in a calendar it shares.
//
// [Read] is pure: events of whole days become dates, others stretches of time. Of events that repeat there may be any number,
// so they are looked at within some years. What cannot be read exactly is an error and never left out in silence, but for what
// is not an event that takes place: cancelled ones, tasks, notes.
//
// The package imports schedule, and two libraries that take the file and its rules of recurrence apart.
package ical
