package clockwork

// What the tests of this folder use from within.
var (
	CheckDuties     = checkDuties
	CompareVersions = compareVersions
	RolesOff        = rolesOff
	ScheduleError   = scheduleError
)

const MaxScheduleError = maxScheduleError
