package calendars

import (
	"fmt"
	"slices"
	"time"

	"github.com/carillon-scheduler/carillon/frontend/internal/request"
	"github.com/carillon-scheduler/carillon/internal/wire"
	"github.com/carillon-scheduler/carillon/schedule"
)

// deleteTime is how long the deletion of a calendar may take. A frontend that has not finished by then has died, or its request was
// refused. Then the calendar is as if nobody had asked for the deletion.
const deleteTime = time.Minute

// Calendar is the stored named calendar, JSON in the bucket of the cluster.
type Calendar struct {
	schedule.NamedCalendar
	// Incarnation is a UUID made at creation. Version counts the changes of the contents from 1. Together they say which contents a
	// schedule goes by.
	Incarnation string    `json:"incarnation"`
	Version     uint64    `json:"version"`
	CreateTime  time.Time `json:"createTime"`
	UpdateTime  time.Time `json:"updateTime,omitzero"`
	// Identity is who has written this version.
	Identity string `json:"identity,omitempty"`
	// RequestID is the idempotency key of the create request, Applied are the newest requests that have updated the calendar.
	RequestID string                `json:"requestId,omitempty"`
	Applied   []wire.AppliedRequest `json:"applied,omitempty"`
	// Edition is a UUID made for this version. Its jobs are named after it.
	Edition string `json:"edition"`
	// Deleting is when somebody began to delete the calendar. From then on no schedule can begin to use it, unless the deletion is
	// refused.
	Deleting time.Time `json:"deleting,omitzero"`
}

// newCalendar returns the calendar that a create request writes.
func newCalendar(req *schedule.CreateCalendarRequest, from request.Origin, incarnation, edition string) Calendar {
	return Calendar{
		NamedCalendar: req.NamedCalendar, Incarnation: incarnation, Version: 1, Edition: edition,
		CreateTime: from.Now, Identity: from.Identity, RequestID: req.RequestID,
	}
}

// updated returns the calendar that an update leads to. An update with the same entries makes no new version, because no schedule has to
// be planned anew for it.
func (c Calendar) updated(req *schedule.UpdateCalendarRequest, from request.Origin, edition string) Calendar {
	if !c.SameEntries(req.NamedCalendar) {
		c.NamedCalendar, c.Version, c.Edition = req.NamedCalendar, c.Version+1, edition
		c.UpdateTime, c.Identity = from.Now, from.Identity
	}
	c.Deleting = time.Time{}
	if req.RequestID != "" {
		applied := append(slices.Clone(c.Applied), wire.AppliedRequest{RequestID: req.RequestID, Version: c.Version})
		c.Applied = applied[max(0, len(applied)-wire.MaxApplied):]
	}
	return c
}

// hasApplied reports whether an update request is among the newest that have been carried out.
func (c *Calendar) hasApplied(requestID string) bool {
	return requestID != "" && slices.ContainsFunc(c.Applied, func(a wire.AppliedRequest) bool {
		return a.RequestID == requestID
	})
}

// isDeleting reports whether somebody is deleting the calendar.
func (c *Calendar) isDeleting(now time.Time) bool {
	return !c.Deleting.IsZero() && now.Before(c.Deleting.Add(deleteTime))
}

// Copy is what a definition keeps of the calendar.
func (c *Calendar) Copy() wire.CalendarCopy {
	return wire.CalendarCopy{
		Incarnation: c.Incarnation, Version: c.Version, Edition: c.Edition, Dates: c.Dates, Windows: c.Windows,
	}
}

// describe returns what users see of the calendar, and how far its re-planning has come, if that is known.
func (c *Calendar) describe(namespace string, replan *schedule.Replan) schedule.CalendarDescription {
	return schedule.CalendarDescription{
		Namespace: namespace, NamedCalendar: c.NamedCalendar, ConflictToken: c.Version,
		Info: schedule.CalendarInfo{
			CreateTime: c.CreateTime, UpdateTime: c.UpdateTime, Identity: c.Identity, Replan: replan,
		},
	}
}

func (c *Calendar) summary() schedule.CalendarSummary {
	return schedule.CalendarSummary{
		Name: c.Name, Dates: len(c.Dates), Windows: len(c.Windows),
		CreateTime: c.CreateTime, UpdateTime: c.UpdateTime, ConflictToken: c.Version,
	}
}

// UsesOf lists the calendars that a definition goes by, in the order in which its spec names them.
func UsesOf(def *wire.Definition) []schedule.CalendarUse {
	var uses []schedule.CalendarUse
	for _, name := range def.Schedule.Spec.ExcludeCalendarsNamed {
		uses = append(uses, schedule.CalendarUse{Name: name, ConflictToken: def.Calendars[name].Version})
	}
	return uses
}

func errNoCalendar(namespace, name string) error {
	return &schedule.Error{
		Code: schedule.CodeNotFound, Field: "name", Message: fmt.Sprintf("namespace %q has no calendar %q", namespace, name),
	}
}
