package schedule

import (
	"slices"
	"strings"
)

// IsOf reports whether the event is of an incarnation of a schedule: the IDs of its events begin with it.
func (e *Event) IsOf(incarnation string) bool { return strings.HasPrefix(e.ID, incarnation+"-") }

// Created returns the incarnation of which an [EventCreated] tells.
func (e *Event) Created() (incarnation string) {
	incarnation, _, _ = strings.Cut(e.ID, "-"+string(EventCreated)+"-")
	return incarnation
}

// IsGone reports whether one of some events says that an incarnation has been deleted or closed.
func IsGone(incarnation string, events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		return (e.Kind == EventDeleted || e.Kind == EventClosed) && e.IsOf(incarnation)
	})
}
