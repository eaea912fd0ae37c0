package schedule

// RemainingActions returns how many automated actions the definition's limit still allows; without a limit the number
// means nothing. The state may be the zero value, or that of an earlier incarnation or limit, which used nothing up.
func (s *InvokerState) RemainingActions(d *Definition) int {
	remaining := d.Schedule.State.RemainingActions
	if s.Incarnation == d.Incarnation && s.LimitVersion == d.LimitVersion {
		remaining -= s.LimitUsed
	}
	return max(remaining, 0)
}
