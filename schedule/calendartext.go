package schedule

import (
	"encoding/json"
	"fmt"
)

// CalendarField is one field of a [Calendar], such as "9", "mon-fri" or "*/15". In JSON and YAML it is a string, or a
// whole number for a single value: "hour: 9" needs no quotes.
type CalendarField string

// UnmarshalJSON reads a string or a whole number.
func (f *CalendarField) UnmarshalJSON(data []byte) error {
	var number uint16
	if json.Unmarshal(data, &number) == nil {
		*f = CalendarField(data)
		return nil
	}
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return fmt.Errorf("must be a whole number or a string such as \"9-17\", not %s", describe(data))
	}
	*f = CalendarField(text)
	return nil
}
