package console_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/common/v1"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/carillon-scheduler/carillon/internal/natstest"
	"github.com/carillon-scheduler/carillon/schedule"
)

// archives gives the namespace an archive.
func (s *shop) archives(t *testing.T) {
	t.Helper()
	_, err := s.api.UpdateNamespace(t.Context(), "default", schedule.UpdateNamespaceRequest{Limits: schedule.NamespaceLimits{Archive: "jetstream://"}})
	require.NoError(t, err)
}

// onlyArchived runs an order that fails, waits until it is in the archive, and deletes it. It returns the path of its page.
func (s *shop) onlyArchived(t *testing.T, id string) (page string) {
	t.Helper()
	s.begin(t, orders, id, "never")
	s.awaitStatus(t, id, enums.WORKFLOW_EXECUTION_STATUS_FAILED)
	service := s.sdk.WorkflowService()
	natstest.Eventually(t, patience, id+" is archived", func() bool {
		found, err := service.ListArchivedWorkflowExecutions(t.Context(), &workflowservice.ListArchivedWorkflowExecutionsRequest{
			Namespace: "default", Query: "WorkflowId = '" + id + "'",
		})
		if err != nil || len(found.Executions) != 1 {
			return false
		}
		page = "/ns/default/archived/" + id + "/" + found.Executions[0].GetExecution().GetRunId()
		return true
	})
	_, err := service.DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
		Namespace: "default", WorkflowExecution: &common.WorkflowExecution{WorkflowId: id},
	})
	require.NoError(t, err)
	return page
}

// TestArchivedExecutions: the archive of a namespace is listed and searched, and an execution that is only there has its page, with its history.
func TestArchivedExecutions(t *testing.T) {
	t.Parallel()
	s := visitShop(t)
	s.open("/ns/default/archived").shows(t, "Archived executions", "not configured for archival")
	s.archives(t)
	one := s.onlyArchived(t, "gone")
	list := s.open("/ns/default/archived")
	list.shows(t, "gone", "Failed")
	s.open("/ns/default/archived?query=WorkflowType+%3D+%27Other%27").shows(t, "No archived execution is found.")
	s.open("/ns/default/archived?query=nonsense").shows(t, "invalid query")
	for _, address := range []string{one, one + "?order=oldest&timeline=table"} {
		s.open(address).shows(t, "This is what the archive has of it.", "the card is stolen", "WorkflowExecutionFailed", "Archived executions")
		require.NotContains(t, s.open(address).body, ">Reset<")
	}
	s.open(one+"/history.json").shows(t, "EVENT_TYPE_WORKFLOW_EXECUTION_FAILED")
	s.open(one+"/events/1").shows(t, "WorkflowExecutionStarted")
	s.open(one+"/result").shows(t, "the card is stolen")
	s.open(one+"/input").shows(t, "never")
	require.Equal(t, 404, s.open("/ns/default/archived/gone/00000000-0000-4000-8000-000000000000").status)
	require.Equal(t, 404, s.open(one+"/events/99").status)
}
