package execution

import (
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

func (tx *transition) recordMarker(c commandContext) *failedCommand {
	attributes := c.GetRecordMarkerCommandAttributes()
	if attributes.GetMarkerName() == "" {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES, "marker name is not set"}
	}
	if long := tooLong("marker name", attributes.GetMarkerName()); long != "" {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_RECORD_MARKER_ATTRIBUTES, long}
	}
	tx.writeFor(c, &historypb.MarkerRecordedEventAttributes{
		MarkerName: attributes.GetMarkerName(), Details: attributes.GetDetails(), Header: attributes.GetHeader(),
		Failure: attributes.GetFailure(), WorkflowTaskCompletedEventId: c.completed,
	})
	return nil
}

func (tx *transition) upsertSearchAttributes(c commandContext) *failedCommand {
	attributes := c.GetUpsertWorkflowSearchAttributesCommandAttributes()
	if len(attributes.GetSearchAttributes().GetIndexedFields()) == 0 {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES, "search attributes are not set"}
	}
	if large := attributesTooLarge(merged(tx.run.SearchAttributes, attributes.GetSearchAttributes().GetIndexedFields())); large != "" {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_SEARCH_ATTRIBUTES, large}
	}
	tx.writeFor(c, &historypb.UpsertWorkflowSearchAttributesEventAttributes{
		SearchAttributes: attributes.GetSearchAttributes(), WorkflowTaskCompletedEventId: c.completed,
	})
	return nil
}

func (tx *transition) modifyProperties(c commandContext) *failedCommand {
	attributes := c.GetModifyWorkflowPropertiesCommandAttributes()
	if len(attributes.GetUpsertedMemo().GetFields()) == 0 {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES, "memo is not set"}
	}
	if large := memoTooLarge(merged(tx.run.Memo, attributes.GetUpsertedMemo().GetFields())); large != "" {
		return &failedCommand{enumspb.WORKFLOW_TASK_FAILED_CAUSE_BAD_MODIFY_WORKFLOW_PROPERTIES_ATTRIBUTES, large}
	}
	tx.writeFor(c, &historypb.WorkflowPropertiesModifiedEventAttributes{
		UpsertedMemo: attributes.GetUpsertedMemo(), WorkflowTaskCompletedEventId: c.completed,
	})
	return nil
}
