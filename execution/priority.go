package execution

import (
	"cmp"
	"fmt"

	commonpb "go.temporal.io/api/common/v1"
)

// maxFairnessKey is how many bytes a fairness key may have, as in Temporal.
const maxFairnessKey = 64

// mergedPriority returns the priority of what a workflow starts: what it does not say is that of the workflow.
func mergedPriority(own, asked *commonpb.Priority) *commonpb.Priority {
	if own == nil || asked == nil {
		return cmp.Or(asked, own)
	}
	return &commonpb.Priority{
		PriorityKey:    cmp.Or(asked.GetPriorityKey(), own.GetPriorityKey()),
		FairnessKey:    cmp.Or(asked.GetFairnessKey(), own.GetFairnessKey()),
		FairnessWeight: cmp.Or(asked.GetFairnessWeight(), own.GetFairnessWeight()),
	}
}

// checkPriority returns what is wrong with a priority; empty if nothing is. A key beyond the last priority counts as that.
func checkPriority(p *commonpb.Priority) (message string) {
	switch {
	case p.GetPriorityKey() < 0:
		return fmt.Sprintf("the priority key is %d: use 1 (first) to 5, or 0 for the usual one", p.GetPriorityKey())
	case len(p.GetFairnessKey()) > maxFairnessKey:
		return fmt.Sprintf("the fairness key has %d bytes: use %d at most", len(p.GetFairnessKey()), maxFairnessKey)
	case !(p.GetFairnessWeight() >= 0): // NaN is not
		return fmt.Sprintf("the fairness weight is %v: use 0 or more", p.GetFairnessWeight())
	}
	return ""
}
