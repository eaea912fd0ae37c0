package schedule

import "time"

// NewStart returns the pending start of a schedule for one time of its spec, or for a trigger. The same arguments give
// the same start in every process.
func NewStart(d *Definition, source string, nominal, actual time.Time) BufferedStart {
	action, policies := &d.Schedule.Action, &d.Schedule.Policies
	base := action.WorkflowID
	if base == "" {
		base = d.ID
	}
	return BufferedStart{
		RequestID:  RequestID(source, d.Namespace, d.ID, d.Incarnation, d.Version, nominal, actual),
		WorkflowID: WorkflowID(base, nominal, policies.KeepOriginalWorkflowID),
		Nominal:    nominal, Actual: actual, Source: source, Manual: source != SourceAuto, Phase: PhasePending,
	}
}
