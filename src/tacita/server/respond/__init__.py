"""The respondent's page: hand-written HTML, CSS and ES modules over the client in `clients/js`, which randomises.

Privacy: the page is the same for all respondents, loads nothing from elsewhere, and sets no cookies. The browser sends
only the request for the questions and the report. Claim: docs/claims/respondent-page.md. Design:
docs/design/respond.md.
"""
