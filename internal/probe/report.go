package probe

import "cmp"

// Status is the state of a process or a role.
type Status string

// The values of Status.
const (
	// StatusReady: it does its work.
	StatusReady Status = "ready"
	// StatusStandby: it is not to do its work here at present, since the installation is active at another site. Only roles have it.
	StatusStandby Status = "standby"
	// StatusWaiting: it has not begun, or cannot do its work at present. That ends when it gets what it waits for.
	StatusWaiting Status = "waiting"
	// StatusStopping: it has been told to stop, and finishes or gives back its work.
	StatusStopping Status = "stopping"
	// StatusStopped: it has stopped.
	StatusStopped Status = "stopped"
	// StatusFailed: it will not do its work again in this process.
	StatusFailed Status = "failed"
)

// Report is what the health endpoints show.
type Report struct {
	// Status is the status of the process: ready if all its roles are that are to do their work.
	Status Status `json:"status"`
	// Roles are in the order in which the process names them.
	Roles []RoleReport `json:"roles"`
}

// RoleReport is the part of a report about one role.
type RoleReport struct {
	Role   string `json:"role"`
	Status Status `json:"status"`
	// Reason tells users what a role waits for, or why it has failed.
	Reason string `json:"reason,omitempty"`
}

// IsReady reports whether all roles do their work that are to do it.
func (r Report) IsReady() bool { return r.Status == StatusReady }

// IsHealthy reports whether the process is worth keeping: it does its work, or will do so by itself, or finishes it.
func (r Report) IsHealthy() bool { return r.Status != StatusFailed && r.Status != StatusStopped }

// newReport makes the report. wait is what all roles wait for.
func newReport(roles []role, wait string, stopping, stopped bool) Report {
	report := Report{Status: StatusReady, Roles: make([]RoleReport, len(roles))}
	for i, r := range roles {
		one := r.report(wait, stopping)
		report.Roles[i] = one
		if severity[one.Status] > severity[report.Status] {
			report.Status = one.Status
		}
	}
	switch {
	case report.Status == StatusFailed:
	case stopped:
		report.Status = StatusStopped
	case stopping:
		report.Status = StatusStopping
	}
	return report
}

// severity orders the statuses of roles. The greatest one of a role decides the status of the process.
var severity = map[Status]int{
	StatusReady: 0, StatusStandby: 0, StatusWaiting: 1, StatusStopped: 2, StatusStopping: 3, StatusFailed: 4,
}

func (r *role) report(wait string, stopping bool) RoleReport {
	report := RoleReport{Role: r.name, Status: StatusReady}
	stuck := ""
	if r.phase == running && wait == "" {
		stuck = said(r.checks.Stuck)
	}
	switch {
	case r.phase == failed:
		report.Status, report.Reason = StatusFailed, "it stopped by itself"
		if r.err != nil {
			report.Reason = r.err.Error()
		}
	case stuck != "":
		report.Status, report.Reason = StatusFailed, stuck
	case r.phase == ended:
		report.Status = StatusStopped
	case r.phase == resting && !stopping:
		report.Status, report.Reason = StatusStandby, r.pause
	case stopping:
		report.Status = StatusStopping
	default:
		if r.phase == awaited {
			wait = cmp.Or(wait, "its start")
		}
		if wait = cmp.Or(wait, said(r.checks.Waits)); wait != "" {
			report.Status, report.Reason = StatusWaiting, "waits for "+wait
		}
	}
	return report
}

// said returns the result of a check; "" if there is no check.
func said(check func() string) string {
	if check == nil {
		return ""
	}
	return check()
}
