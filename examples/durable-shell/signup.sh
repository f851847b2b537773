# A sign-up: a mail, three days for a click, and a reminder where none came.
set -e
mail='echo "mail to $WHO: $0" >&2; echo sent' # the key for a mail server: $RAMET_STEP_KEY

ramet step welcome -- sh -c "$mail" welcome
if click=$(ramet wait click --timeout "${PATIENCE:-3d}"); then
  ramet step account -- sh -c "$mail" "your account"
  echo "confirmed by $click"
else
  ramet step reminder -- sh -c "$mail" reminder
  echo "not confirmed"
fi
