package console

import "github.com/codemode-project/codemode/internal/console/signin"

// inside lists all paths of a session. Their handlers are in page_<subject>.go, answer.go and events.go. One that
// shows a page names its template to render.
func (c *Console) inside() []route {
	const (
		answering = signin.Approver
		reading   = signin.Auditor
		ruling    = signin.Admin
		either    = answering | reading
		anybody   = signin.All
	)
	get := func(path string, of signin.Roles, p page) route {
		return route{method: "GET", path: path, power: reads, roles: of, page: p}
	}
	post := func(path string, w power, of signin.Roles, p page) route {
		return route{method: "POST", path: path, power: w, roles: of, page: p}
	}
	wide := func(path string, p prepare) route {
		return route{method: "POST", path: path, roles: ruling, prepare: p}
	}
	token := func(x route) route { x.token = true; return x }
	book := rulePages{c}.rulePages()
	return []route{
		get("/{$}", answering, questions{c}.showPending),
		get("/ask/{id}", answering, questions{c}.showAsk),
		get(provePath+"{id}", answering, door{c}.prove),
		get("/running", reading, runPages{c}.showRunning),
		get("/sessions", reading, sessionPages{c}.showSessions),
		get("/sessions/{id}", reading, sessionPages{c}.showSession),
		get("/sessions/{id}/{action}", ruling, sessionPages{c}.askSession),
		get("/servers", reading, serverPages{c}.showServers),
		get("/records/{kind}", reading, recordPages{c}.showRecords),
		get("/history", reading, recordPages{c}.showHistory),
		get("/run/{run}", reading, recordPages{c}.showRun),
		get("/grants", either, recordPages{c}.showGrants),
		get(accountsPath, anybody, accountPages{c}.showAccounts),
		get("/rules", ruling, rulePages{c}.showRules),
		post("/answer", answers, answering, replies{c}.answerForm),
		wide("/answer/propose", replies{c}.answerAndPropose),
		post("/grants/revoke", narrows, answering, recordPages{c}.revoke),
		post("/sessions/{id}/{action}", arranges, ruling, sessionPages{c}.changeSession),
		post("/rules/validate", reads, ruling, rulePages{c}.validateRules),
		wide("/rules/save", rulePages{c}.saveRules),
		wide("/rules/propose", rulePages{c}.proposeRule),
		wide("/rules/session", rulePages{c}.makeSession),
		post("/rules/session/end", narrows, ruling, rulePages{c}.endRoleSession),
		get("/rules/profile/{name}", ruling, rulePages{c}.ofBook(book.ShowProfile)),
		get("/rules/overlays", ruling, rulePages{c}.ofBook(book.ShowOverlays)),
		post("/rules/explain", reads, ruling, rulePages{c}.ofBook(book.ShowAnswer)),
		post("/rules/preview", reads, ruling, rulePages{c}.ofBook(book.ShowPreview)),
		post("/servers/reconnect", narrows, ruling, serverPages{c}.reconnect),
		wide("/servers/accept", serverPages{c}.acceptTool),
		post(accountsPath+"/connect", arranges, anybody, accountPages{c}.connectAccount),
		post(accountsPath+"/disconnect", narrows, anybody, accountPages{c}.disconnectAccount),
		post("/logout", narrows, anybody, door{c}.logout),

		get("/api/session", anybody, door{c}.apiSession),
		get("/api/openapi.json", anybody, apiDescription),
		token(get("/api/pending", answering, questions{c}.apiPending)),
		token(get("/api/pending/{id}", answering, questions{c}.apiAsk)),
		token(get("/api/events", either, c.apiEvents)),
		token(get("/api/entries", reading, recordPages{c}.apiEntries)),
		token(get("/api/entries/events", reading, recordPages{c}.apiEntryEvents)),
		token(get("/api/grants", either, recordPages{c}.apiGrants)),
		token(post("/api/answer", answers, answering, replies{c}.apiAnswer)),
		token(post("/api/grants/revoke", narrows, answering, recordPages{c}.revoke)),
		post("/api/logout", narrows, anybody, door{c}.logout),
		get("/api/running", reading, asJSON(runPages{c}.running)),
		get("/api/sessions", reading, asJSON(sessionPages{c}.listSessions)),
		get("/api/sessions/{id}", reading, asJSON(sessionPages{c}.describeSession)),
		post("/api/sessions/{id}/{action}", arranges, ruling, sessionPages{c}.changeSession),
		get("/api"+accountsPath, anybody, accountPages{c}.apiAccounts),
		post("/api"+accountsPath+"/connect", arranges, anybody, accountPages{c}.connectAccount),
		post("/api"+accountsPath+"/disconnect", narrows, anybody, accountPages{c}.disconnectAccount),
		get("/api/servers", reading, serverPages{c}.apiServers),
		post("/api/servers/reconnect", narrows, ruling, serverPages{c}.reconnect),
		wide("/api/servers/accept", serverPages{c}.acceptTool),
		wide("/api/answer/propose", replies{c}.apiAnswerAndPropose),

		get("/api/rules", ruling, rulePages{c}.bookAPI(book.AnswerRules)),
		get("/api/rules/profiles/{name}", ruling, rulePages{c}.bookAPI(book.AnswerProfile)),
		get("/api/rules/overlays", ruling, rulePages{c}.bookAPI(book.AnswerOverlays)),
		post("/api/rules/explain", reads, ruling, rulePages{c}.bookAPI(book.AnswerQuestion)),
		post("/api/rules/preview", reads, ruling, rulePages{c}.bookAPI(book.AnswerPreview)),
		wide("/api/rules/save", rulePages{c}.apiSave),
		wide("/api/rules/propose", rulePages{c}.proposeRule),
		wide("/api/rules/session", rulePages{c}.makeSession),
		get("/api/rules/sessions", ruling, rulePages{c}.apiRoleSessions),
		post("/api/rules/session/end", narrows, ruling, rulePages{c}.endRoleSession),
	}
}
