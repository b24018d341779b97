"""The respondent's page: hand-written HTML, CSS and ES modules over the client in `clients/js`, which randomises.

Privacy: the page is the same for everybody, loads nothing from elsewhere, sets no cookies; what leaves the browser is
the request for the questions and the report. Claim: docs/claims/respondent-page.md. Why it is as it is:
docs/design/respond.md.
"""
