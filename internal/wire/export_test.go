package wire

// What tests outside the package look into.
var (
	AppendField = appendField
	IDSpace     = idSpace
)
